package io.shardtide.cost;

import io.shardtide.option.RowUse;
import io.shardtide.option.TablePart;
import io.shardtide.workload.ClusterSpec;
import io.shardtide.workload.Collective;
import io.shardtide.workload.Direction;
import io.shardtide.workload.TableSpec;
import java.util.Arrays;
import java.util.EnumMap;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;

/**
 * Predicts costs in plain Java; {@link ModelBundle} has the formulas. Not thread-safe: one for each
 * thread.
 */
public final class CostEvaluator {
  private final ModelBundle bundle;
  private final Mlp head;
  private final int components;
  private final float[] headInput;
  private final int headOutputs;
  private final int towerSize;
  private final int segmentSize;
  private final boolean hasGroups;

  /** Milliseconds of the terms of a launch, forward alone. */
  private final double[] forwardLaunchMs = new double[LaunchGroups.TERMS.size()];

  /** The same, forward and backward. */
  private final double[] launchMs = new double[LaunchGroups.TERMS.size()];

  private final double hostLinkGbs;

  /** What is the same for all parts of a table in host memory, computed once: by identity. */
  private final IdentityHashMap<TableSpec, HostRows> hostRows = new IdentityHashMap<>();

  private final double risk;
  private final Map<Direction, Map<Collective, CollectiveCost>> collectives =
      new EnumMap<>(Direction.class);
  private long evaluations;

  private record HostRows(ClusterSpec cluster, TableShapes shapes, double leastCacheShare) {}

  /**
   * @param bundle the model
   * @param risk standard deviations of each cost that are added to its prediction, for a search
   *     that pays for what is not known
   */
  CostEvaluator(ModelBundle bundle, double risk) {
    this.risk = risk;
    hostLinkGbs = bundle.hostLinkGbs().orElse(HostLink.PUBLISHED_GBS);
    headOutputs = bundle.headOutputs();
    towerSize = bundle.towerSize();
    segmentSize = bundle.segmentSize();
    hasGroups = bundle.launches().isPresent();
    bundle
        .launches()
        .ifPresent(
            costs -> {
              Arrays.setAll(forwardLaunchMs, i -> costs.forwardMs().get(i));
              Arrays.setAll(launchMs, i -> costs.forwardMs().get(i) + costs.backwardMs().get(i));
            });
    this.bundle = bundle;
    head = new Mlp(bundle.head());
    components = bundle.latencyComponents();
    headInput = new float[head.inputs()];
    for (Direction direction : Direction.values()) {
      Map<Collective, CollectiveCost> costs = new EnumMap<>(Collective.class);
      for (Collective collective : Collective.values()) {
        bundle
            .collective(collective, direction)
            .ifPresent(net -> costs.put(collective, new CollectiveCost(net, risk)));
      }
      collectives.put(direction, costs);
    }
  }

  /** Returns the length of a device's sum of towers. */
  public int sumSize() {
    return bundle.sumSize();
  }

  /**
   * Returns what a shard adds to the sum of its device: its tower's output and what it adds beside
   * it, rounded by {@link TowerSums#exact}, in the place of its launch group.
   *
   * @param tower the tower's output
   * @param replicated whether each device has a copy
   * @param weightBytes bytes of an element of the weights
   * @param added what the shard adds beside its tower's output
   */
  public double[] addend(float[] tower, boolean replicated, double weightBytes, AddedMs added) {
    double[] addend = new double[sumSize()];
    int at = (hasGroups ? LaunchGroups.of(replicated, weightBytes) : 0) * segmentSize;
    System.arraycopy(TowerSums.exact(tower), 0, addend, at, tower.length);
    added.write(addend, at + towerSize);
    return addend;
  }

  /** Returns what a measured shard adds: caches of all sizes cost what was measured of them. */
  public double[] addend(float[] tower, ShardShape shape) {
    return addend(
        tower, shape.replicated(), shape.weightBytes(), HostLink.ms(shape, 0, hostLinkGbs));
  }

  /** Returns what rows in host memory add to each device of a part. */
  AddedMs hostMs(TablePart part, TableSpec table, ClusterSpec cluster) {
    if (part.cacheShare().isEmpty()) {
      return AddedMs.NONE;
    }
    HostRows rows = hostRows.get(table);
    if (rows == null || !rows.cluster.equals(cluster)) {
      rows =
          new HostRows(
              cluster,
              new TableShapes(table, cluster.batchSize()),
              RowUse.leastCacheShare(table, cluster));
      hostRows.put(table, rows);
    }
    return HostLink.ms(rows.shapes.of(part, 0, cluster), rows.leastCacheShare, hostLinkGbs);
  }

  /** Returns what rows in host memory add to the device of a shard. */
  AddedMs hostMs(ShardShape shape, TableSpec table, ClusterSpec cluster) {
    return shape.cacheShare().isEmpty()
        ? AddedMs.NONE
        : HostLink.ms(shape, RowUse.leastCacheShare(table, cluster), hostLinkGbs);
  }

  /** Returns how often a computation was predicted: the unit of a search's budget. */
  public long evaluations() {
    return evaluations;
  }

  /** Predicts the computation of a device in milliseconds; 0 without shards. */
  double computeMs(DeviceLoad load) {
    return load.shards() == 0 ? 0 : computeMs(load.towerSum());
  }

  /**
   * Predicts the computation of a device, forward and backward, in milliseconds.
   *
   * @param towerSum sum of {@link #addend} over the device's shards, of which there is at least one
   */
  public double computeMs(double[] towerSum) {
    double ms = 0;
    for (int group = 0; group < launchGroups(); group++) {
      ms += groupMs(towerSum, 0, group);
    }
    return ms;
  }

  /** Returns how many launch groups a device has: its computation is the sum of theirs. */
  public int launchGroups() {
    return hasGroups ? LaunchGroups.COUNT : 1;
  }

  /**
   * Predicts the computation of one launch group of a device, in milliseconds; of a group without
   * shards, what is added to it beside them.
   *
   * @param sums sums of towers of many devices, one after another
   * @param at where the device's begin
   * @param group the group, 0 to below {@link #launchGroups}
   */
  public double groupMs(double[] sums, int at, int group) {
    int from = at + group * segmentSize;
    double ms = groupMs(sums, from, group, components) + AddedMs.ms(sums, from + towerSize);
    if (risk != 0 && bundle.isFineTuned()) {
      ms += risk * sums[from + towerSize - 1];
    }
    return ms;
  }

  /**
   * Predicts the computation of a device that has a whole table and nothing else, in milliseconds.
   *
   * @param tower the tower's output for the whole table
   */
  public double aloneMs(TableSpec table, float[] tower) {
    return computeMs(addend(tower, false, table.bytesPerElement(), AddedMs.NONE));
  }

  /** Predicts the forward computation of a device in milliseconds; see {@link #computeMs}. */
  public double forwardComputeMs(double[] towerSum) {
    double ms = 0;
    for (int group = 0; group < launchGroups(); group++) {
      int from = group * segmentSize;
      ms += groupMs(towerSum, from, group, components / 2) + towerSum[from + towerSize];
    }
    return ms;
  }

  /** Predicts the first latency components of a group: those of the forward pass, or all. */
  private double groupMs(double[] sums, int at, int group, int to) {
    if (!hasGroups) {
      evaluations++;
      return shardsMs(sums, at, to);
    }
    int numbers = at + headOutputs;
    if (!LaunchGroups.isLaunched(sums, numbers)) {
      return 0;
    }
    evaluations++;
    headInput[headInput.length - 1] = LaunchGroups.widest(sums, numbers);
    double[] ofLaunch = to == components ? launchMs : forwardLaunchMs;
    return shardsMs(sums, at, to) + LaunchGroups.ms(ofLaunch, group, sums, numbers);
  }

  /** Predicts the shards of a launch group, whose sums begin at a position. */
  private float shardsMs(double[] towerSum, int at, int to) {
    HeadInputs.write(towerSum, at, components, headOutputs, headInput);
    float[] corrections = head.apply(headInput);
    float ms = 0;
    for (int k = 0; k < to; k++) {
      float g = corrections[k];
      float factor = 1f + Math.abs(g);
      float sum = (float) towerSum[at + k];
      ms += g < 0 ? sum / factor : sum * factor;
    }
    return ms;
  }

  /**
   * Returns a lower bound of the factor by which the head scales each latency component, whatever a
   * device holds: the inputs of the head are between 0 and 1, and intervals are propagated through
   * its layers.
   */
  public double[] leastFactors() {
    List<DenseLayer> layers = bundle.head();
    double[] low = new double[headInput.length];
    double[] high = new double[headInput.length];
    Arrays.fill(high, 1);
    for (int l = 0; l < layers.size(); l++) {
      DenseLayer layer = layers.get(l);
      double[] newLow = new double[layer.outputs()];
      double[] newHigh = new double[layer.outputs()];
      for (int j = 0; j < layer.outputs(); j++) {
        newLow[j] = layer.biases()[j];
        newHigh[j] = layer.biases()[j];
        for (int i = 0; i < layer.inputs(); i++) {
          double w = layer.weights()[i * layer.outputs() + j];
          newLow[j] += w * (w > 0 ? low[i] : high[i]);
          newHigh[j] += w * (w > 0 ? high[i] : low[i]);
        }
        if (l + 1 < layers.size()) {
          newLow[j] = Math.max(0, newLow[j]);
          newHigh[j] = Math.max(0, newHigh[j]);
        }
      }
      low = newLow;
      high = newHigh;
    }
    double[] factors = new double[components];
    for (int k = 0; k < components; k++) {
      factors[k] = (1 + Math.max(0, low[k])) / (1 + Math.max(0, -low[k]));
    }
    return factors;
  }

  /**
   * Predicts an all-to-all on a device, in milliseconds; 0 if no device sends anything.
   *
   * @param bytes bytes that the device sends to each other one
   * @param load what all devices send
   */
  public double allToAllMs(Direction direction, double bytes, AllToAllLoad load) {
    return load.group().devices() == 1 || load.maxBytes() == 0
        ? 0
        : cost(Collective.ALL_TO_ALL, direction).allToAllMs(bytes, load);
  }

  /** Predicts a collective with one buffer, in milliseconds; 0 without bytes, or on one device. */
  public double bufferMs(BufferCollective buffer, DeviceGroup group) {
    return group.devices() == 1 || buffer.bytes() == 0
        ? 0
        : cost(buffer.collective(), buffer.direction()).bufferMs(buffer.bytes(), group);
  }

  /**
   * Predicts a measured collective, in milliseconds: on each device of an all-to-all, otherwise one
   * number. A sample that stands for both directions is predicted as forward.
   */
  public double[] collectiveMs(CollectiveSample sample) {
    DeviceGroup group = sample.group();
    Direction direction = sample.direction().orElse(Direction.FORWARD);
    double[] bytes = sample.bytes();
    if (sample.collective() != Collective.ALL_TO_ALL) {
      return new double[] {
        bufferMs(new BufferCollective(sample.collective(), direction, bytes[0]), group)
      };
    }
    AllToAllLoad load = AllToAllLoad.of(group, bytes);
    return Arrays.stream(bytes).map(b -> allToAllMs(direction, b, load)).toArray();
  }

  private CollectiveCost cost(Collective collective, Direction direction) {
    CollectiveCost cost = collectives.get(direction).get(collective);
    if (cost == null) {
      throw new IllegalArgumentException(
          "model %s of %s must predict the %s of a %s step, which was not measured"
              .formatted(bundle.shown(), bundle.hardware(), collective.label(), direction.label()));
    }
    return cost;
  }
}
