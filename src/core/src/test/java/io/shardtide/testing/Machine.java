package io.shardtide.testing;

import io.shardtide.cost.CollectiveSample;
import io.shardtide.cost.CommunicationCost;
import io.shardtide.cost.ComputeSample;
import io.shardtide.cost.CostModel;
import io.shardtide.cost.DeviceShard;
import io.shardtide.cost.Evaluation;
import io.shardtide.cost.SampleSet;
import io.shardtide.cost.StepCollectives;
import io.shardtide.cost.TowerPredictor;
import io.shardtide.workload.ClusterSpec;
import io.shardtide.workload.Collective;
import io.shardtide.workload.Direction;
import io.shardtide.workload.TableSpec;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.Random;
import java.util.stream.IntStream;

/**
 * A simulated machine: its costs are a model's predictions times a change, with noise. Plans place
 * shards of 40 tables on 4 devices.
 */
public final class Machine {
  public static final int BATCH = 65_536;
  private static final int[] WIDTHS = {16, 32, 64, 128};

  private final List<TableSpec> tables;
  private final CostChange change;
  private final double noise;

  /** How many times slower shards of 128 columns, all shards, and all-to-alls became. */
  public record CostChange(double wide, double all, double allToAll) {
    public static final CostChange NONE = new CostChange(1, 1, 1);
    public static final CostChange WIDE = new CostChange(2, 1, 1);
    public static final CostChange ALL = new CostChange(1, 1.6, 1);
  }

  public Machine(int firstTable, CostChange change, double noise) {
    Random random = new Random(firstTable);
    tables =
        IntStream.range(firstTable, firstTable + 40)
            .mapToObj(t -> Plans.randomTable(random, "t" + t))
            .toList();
    this.change = change;
    this.noise = noise;
  }

  /** Measures each of some plans once: 4 computations, and the all-to-alls of both directions. */
  public SampleSet measure(int plans, long seed) {
    Random random = new Random(seed);
    List<ComputeSample> devices = new ArrayList<>();
    List<CollectiveSample> allToAlls = new ArrayList<>();
    List<ComputeSample> wide = new ArrayList<>();
    for (int p = 0; p < plans; p++) {
      int[] columns = new int[4];
      for (int d = 0; d < 4; d++) {
        List<DeviceShard> shards = new ArrayList<>();
        for (int n = 3 + random.nextInt(8); n > 0; n--) {
          TableSpec table = tables.get(random.nextInt(40));
          DeviceShard shard =
              DeviceShard.ofColumns(table.withColumns(WIDTHS[random.nextInt(4)]), BATCH);
          shards.add(shard);
          columns[d] += shard.table().columns();
        }
        devices.add(new ComputeSample(shards, 1));
        List<DeviceShard> some = shards.stream().filter(s -> s.table().columns() == 128).toList();
        wide.add(new ComputeSample(some.isEmpty() ? shards : some, 1));
      }
      allToAlls.addAll(allToAlls(columns, random));
    }
    SampleSet set = new SampleSet(devices, List.of());
    SampleSet wideSet = new SampleSet(wide, List.of());
    List<ComputeSample> measured = new ArrayList<>();
    CostModel model = TestModels.model();
    try (TowerPredictor towers = new PlainTowers(TestModels.bundle())) {
      var predicted = Evaluation.of(model, towers, set).computations();
      var predictedWide = Evaluation.of(model, towers, wideSet).computations();
      for (int i = 0; i < devices.size(); i++) {
        boolean any = devices.get(i).shards().stream().anyMatch(s -> s.table().columns() == 128);
        double ms =
            change.all()
                * (predicted.get(i).predictedMs()
                    + (any ? (change.wide() - 1) * predictedWide.get(i).predictedMs() : 0));
        measured.add(new ComputeSample(devices.get(i).shards(), ms * noise(random)));
      }
    }
    return new SampleSet(measured, allToAlls);
  }

  private List<CollectiveSample> allToAlls(int[] columns, Random random) {
    ClusterSpec cluster = Fixtures.cluster(columns.length, Fixtures.GIB);
    CommunicationCost cost =
        StepCollectives.of(cluster)
            .allToAll(TestModels.model().evaluator(), Plans.elements(columns, BATCH));
    double[] bytes =
        Arrays.stream(columns)
            .mapToDouble(own -> (double) own * BATCH / columns.length * 4)
            .toArray();
    return List.of(
        allToAll(Direction.FORWARD, bytes, cost.forwardMs(), random),
        allToAll(Direction.BACKWARD, bytes, cost.backwardMs(), random));
  }

  private CollectiveSample allToAll(
      Direction direction, double[] bytes, double[] predicted, Random random) {
    double[] ms =
        Arrays.stream(predicted).map(cost -> change.allToAll() * cost * noise(random)).toArray();
    return new CollectiveSample(
        Collective.ALL_TO_ALL, Optional.of(direction), ms.length, ms.length, bytes, ms);
  }

  private double noise(Random random) {
    return 1 + noise * random.nextGaussian();
  }

  /** Returns samples, of which a share is replaced by labels 2 to 10 times too large or small. */
  public static SampleSet corrupted(SampleSet samples, double share, long seed) {
    Random random = new Random(seed);
    List<ComputeSample> compute = new ArrayList<>();
    for (ComputeSample sample : samples.compute()) {
      double factor =
          StrictMath.pow(10, StrictMath.log10(2) + random.nextDouble() * (1 - StrictMath.log10(2)));
      boolean up = random.nextBoolean();
      compute.add(
          random.nextDouble() < share
              ? new ComputeSample(
                  sample.shards(), up ? sample.computeMs() * factor : sample.computeMs() / factor)
              : sample);
    }
    return new SampleSet(compute, samples.collectives());
  }
}
