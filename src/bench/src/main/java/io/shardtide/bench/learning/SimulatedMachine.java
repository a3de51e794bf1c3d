package io.shardtide.bench.learning;

import io.shardtide.cost.CommunicationCost;
import io.shardtide.cost.CostEvaluator;
import io.shardtide.cost.CostModel;
import io.shardtide.cost.ModelBundle;
import io.shardtide.cost.ModelBundleBuilder;
import io.shardtide.cost.ShardShape;
import io.shardtide.cost.Slowdowns;
import io.shardtide.cost.StepCollective;
import io.shardtide.cost.StepCollectives;
import io.shardtide.cost.StepCost;
import io.shardtide.cost.TablePrediction;
import io.shardtide.cost.TablePredictions;
import io.shardtide.cost.TowerPredictor;
import io.shardtide.plan.MeasuredCollective;
import io.shardtide.plan.MeasuredDevice;
import io.shardtide.plan.Shard;
import io.shardtide.workload.ClusterSpec;
import io.shardtide.workload.Collective;
import io.shardtide.workload.Direction;
import io.shardtide.workload.ShardScope;
import io.shardtide.workload.TableSpec;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.Random;
import java.util.function.DoubleSupplier;
import java.util.function.ToDoubleFunction;
import java.util.stream.IntStream;

/**
 * A machine whose costs no model knows: those of a trained model, other for each shape, and
 * changed. It is a model itself, whose plans are the best that a model of the machine can have.
 */
public final class SimulatedMachine implements TowerPredictor {
  /** Amplitude of each of three waves by which the machine differs from the model anyhow. */
  private static final double WAVES = 0.01;

  private final CostModel model;
  private final TowerPredictor towers;
  private final ToDoubleFunction<ShardShape> factor;

  /**
   * @param bundle predicts the costs of the collectives and of the heads
   * @param towers predicts the costs of shapes before they change
   * @param factor factor of the cost of each shape
   */
  private SimulatedMachine(
      ModelBundle bundle, TowerPredictor towers, ToDoubleFunction<ShardShape> factor) {
    model = new CostModel(bundle);
    this.towers = towers;
    this.factor = factor;
  }

  /**
   * Returns a machine that costs what a model predicts, but for waves over the shapes, and for a
   * change.
   *
   * @param model the trained model
   * @param towers its tower; not closed with the machine
   * @param change what changed
   * @param seed seed of the waves
   */
  public static SimulatedMachine of(
      ModelBundle model, TowerPredictor towers, MachineChange change, long seed) {
    ToDoubleFunction<ShardShape> waves = waves(WAVES, seed);
    ModelBundle changed =
        change == MachineChange.NONE
            ? model
            : ModelBundleBuilder.builder(model)
                .collectives(model.collectives().stream().map(change::apply).toList())
                .modelId("")
                .build()
                .identified();
    return new SimulatedMachine(
        changed, towers, shape -> waves.applyAsDouble(shape) * change.factor(shape));
  }

  /**
   * What a step costs.
   *
   * @param devices costs of each device
   * @param collectives durations of each collective
   */
  public record SimulatedStep(List<MeasuredDevice> devices, List<MeasuredCollective> collectives) {
    /** Returns a step whose devices wait for the last one to begin the forward collectives. */
    static SimulatedStep of(double[] computeMs, List<MeasuredCollective> collectives) {
      double[] forwardMs = new double[computeMs.length];
      double[] backwardMs = new double[computeMs.length];
      for (MeasuredCollective collective : collectives) {
        double[] sum = collective.direction() == Direction.FORWARD ? forwardMs : backwardMs;
        for (int d = 0; d < sum.length; d++) {
          sum[d] += collective.ms().get(d);
        }
      }
      StepCost step = StepCost.of(computeMs, new CommunicationCost(forwardMs, backwardMs));
      return new SimulatedStep(
          IntStream.range(0, computeMs.length)
              .mapToObj(
                  d ->
                      new MeasuredDevice(
                          step.computeMs()[d], step.forwardCommMs()[d], step.backwardCommMs()[d]))
              .toList(),
          collectives);
    }

    /** Returns what the step takes, in milliseconds: the slowest device's time. */
    public double ms() {
      return devices.stream()
          .mapToDouble(d -> d.computeMs() + d.forwardCommMs() + d.backwardCommMs())
          .max()
          .orElse(0);
    }

    /** Returns this with each computation and each collective times a factor of its own. */
    SimulatedStep scaled(DoubleSupplier factors) {
      List<MeasuredCollective> scaled = new ArrayList<>();
      for (MeasuredCollective c : collectives) {
        double factor = factors.getAsDouble();
        scaled.add(
            new MeasuredCollective(
                c.scope(),
                c.collective(),
                c.direction(),
                c.ms().stream().map(ms -> ms * factor).toList()));
      }
      return of(
          devices.stream().mapToDouble(d -> d.computeMs() * factors.getAsDouble()).toArray(),
          scaled);
    }

    /** Returns this with all computations times a factor. */
    SimulatedStep withComputations(double factor) {
      return of(devices.stream().mapToDouble(d -> d.computeMs() * factor).toArray(), collectives);
    }
  }

  /** Returns the model that knows the machine. */
  CostModel model() {
    return model;
  }

  @Override
  public String modelId() {
    return model.id();
  }

  @Override
  public Optional<String> proxyHardware() {
    return Optional.empty();
  }

  @Override
  public List<TablePrediction> predict(List<TableSpec> tables, int batchSize) {
    return TablePredictions.ofColumns(model, this::towers, tables, batchSize);
  }

  @Override
  public List<TablePrediction> predict(List<TableSpec> tables, ClusterSpec cluster) {
    return TablePredictions.ofAllKinds(model, this::towers, tables, cluster);
  }

  @Override
  public List<float[]> towers(List<ShardShape> shapes) {
    List<float[]> outputs = towers.towers(shapes);
    int components = model.bundle().latencyComponents();
    List<float[]> changed = new ArrayList<>();
    for (int i = 0; i < outputs.size(); i++) {
      float[] tower = outputs.get(i).clone();
      float scale = (float) factor.applyAsDouble(shapes.get(i));
      for (int k = 0; k < components; k++) {
        tower[k] *= scale;
      }
      changed.add(tower);
    }
    return changed;
  }

  /** Returns what a step of a plan takes, in milliseconds. */
  double stepMs(List<TableSpec> tables, List<Shard> shards, ClusterSpec cluster) {
    return cost(tables, shards, cluster).predictedMs();
  }

  private StepCost cost(List<TableSpec> tables, List<Shard> shards, ClusterSpec cluster) {
    CostEvaluator evaluator = model.evaluator();
    return StepCost.of(
        evaluator,
        StepCollectives.of(cluster),
        StepCost.loads(tables, shards, cluster, evaluator, this),
        Slowdowns.none(cluster.devices()));
  }

  /**
   * Measures a step of a plan.
   *
   * @param noise standard deviation of each number, as a share of it
   * @param random draws the noise
   */
  public SimulatedStep measure(
      List<TableSpec> tables,
      List<Shard> shards,
      ClusterSpec cluster,
      double noise,
      Random random) {
    CostEvaluator evaluator = model.evaluator();
    List<MeasuredCollective> collectives = new ArrayList<>();
    for (ShardScope scope : ShardScope.values()) {
      List<Shard> ofScope = shards.stream().filter(s -> s.kind().scope() == scope).toList();
      if (!ofScope.isEmpty() && cluster.devices() > 1) {
        CommunicationCost cost =
            StepCollectives.of(cluster)
                .ms(evaluator, StepCost.loads(tables, ofScope, cluster, evaluator, this));
        collectives.addAll(collectives(scope, ofScope, cluster, cost, evaluator));
      }
    }
    List<MeasuredCollective> noisy =
        collectives.stream()
            .map(
                c ->
                    new MeasuredCollective(
                        c.scope(),
                        c.collective(),
                        c.direction(),
                        c.ms().stream().map(ms -> ms * noisy(noise, random)).toList()))
            .toList();
    double[] computeMs = cost(tables, shards, cluster).computeMs().clone();
    for (int d = 0; d < computeMs.length; d++) {
      computeMs[d] *= noisy(noise, random);
    }
    return SimulatedStep.of(computeMs, noisy);
  }

  private static double noisy(double noise, Random random) {
    return Math.max(0.5, 1 + noise * random.nextGaussian());
  }

  private static List<MeasuredCollective> collectives(
      ShardScope scope,
      List<Shard> shards,
      ClusterSpec cluster,
      CommunicationCost cost,
      CostEvaluator evaluator) {
    List<MeasuredCollective> collectives = new ArrayList<>();
    for (Direction direction : Direction.values()) {
      double[] ms = direction == Direction.FORWARD ? cost.forwardMs() : cost.backwardMs();
      List<Collective> of = new ArrayList<>(scope.collectives(direction));
      double[] inNodes = new double[ms.length];
      if (scope == ShardScope.NODE) {
        inNodes = inNodes(shards, cluster, direction, evaluator);
      }
      for (Collective collective : of) {
        double[] own = ms.clone();
        for (int d = 0; d < own.length && scope == ShardScope.NODE; d++) {
          own[d] = collective == Collective.ALL_TO_ALL ? ms[d] - inNodes[d] : inNodes[d];
        }
        if (Arrays.stream(own).anyMatch(m -> m > 0)) {
          collectives.add(
              new MeasuredCollective(
                  scope, collective, direction, Arrays.stream(own).boxed().toList()));
        }
      }
    }
    return collectives;
  }

  private static double[] inNodes(
      List<Shard> shards, ClusterSpec cluster, Direction direction, CostEvaluator evaluator) {
    double[] ms = new double[cluster.devices()];
    for (int node = 0; node < cluster.nodes(); node++) {
      int of = node;
      double columns =
          shards.stream()
              .filter(s -> s.rowOffset() == 0 && cluster.node(s.device()) == of)
              .mapToInt(Shard::columns)
              .sum();
      List<Integer> devices = cluster.devicesOfNode(node);
      StepCollective ofNodes = StepCollectives.of(cluster).get(ShardScope.NODE, direction);
      double inside =
          ofNodes.bufferMs(evaluator, ofNodes.group(node), columns * cluster.batchSize());
      devices.forEach(d -> ms[d] = inside);
    }
    return ms;
  }

  /** Returns a smooth factor of a shape's cost, other for each seed: e to a sum of three waves. */
  private static ToDoubleFunction<ShardShape> waves(double amplitude, long seed) {
    Random random = new Random(seed);
    double[][] waves = new double[3][6];
    for (double[] wave : waves) {
      Arrays.setAll(wave, i -> random.nextGaussian());
    }
    return shape -> {
      double log = 0;
      for (double[] wave : waves) {
        double phase =
            wave[0]
                + wave[1] * log2(shape.columns()) / 2
                + wave[2] * log2(shape.lookups() / Math.max(1, shape.outputs())) / 3
                + wave[3] * log2((double) shape.rows()) / 8
                + wave[4] * log2(1 + shape.distinctRows()) / 8
                + (shape.replicated() ? wave[5] : 0);
        log += amplitude * StrictMath.sin(phase);
      }
      return StrictMath.exp(log);
    };
  }

  private static double log2(double x) {
    return StrictMath.log(Math.max(x, 1e-9)) / StrictMath.log(2);
  }

  @Override
  public void close() {
    // The towers are closed by their owner.
  }
}
