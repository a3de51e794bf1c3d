package io.shardtide.testing;

import io.shardtide.cost.CommunicationCost;
import io.shardtide.cost.CommunicationSample;
import io.shardtide.cost.ComputeSample;
import io.shardtide.cost.ComputeSample.SampledShard;
import io.shardtide.cost.CostModel;
import io.shardtide.cost.Evaluation;
import io.shardtide.cost.SampleSet;
import io.shardtide.cost.TowerPredictor;
import io.shardtide.cost.tensorflow.TensorFlowTowers;
import io.shardtide.domain.TableSpec;
import io.shardtide.neuroshard.TableConfigs;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.TreeMap;

/**
 * A simulated machine: its costs are the shipped model's predictions times a change, with noise.
 * Plans place shards of 40 reference tables on 4 devices.
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
    try {
      List<TableSpec> all =
          TableConfigs.read(Path.of("src/test/resources/reference/table_configs.json"));
      tables = all.subList(firstTable, firstTable + 40);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
    this.change = change;
    this.noise = noise;
  }

  /** Measures each of some plans once. */
  public SampleSet measure(int plans, long seed) {
    Random random = new Random(seed);
    List<ComputeSample> devices = new ArrayList<>();
    List<CommunicationSample> allToAlls = new ArrayList<>();
    List<ComputeSample> wide = new ArrayList<>();
    for (int p = 0; p < plans; p++) {
      int[] columns = new int[4];
      for (int d = 0; d < 4; d++) {
        List<SampledShard> shards = new ArrayList<>();
        for (int n = 3 + random.nextInt(8); n > 0; n--) {
          SampledShard shard = new SampledShard(random.nextInt(40), WIDTHS[random.nextInt(4)]);
          shards.add(shard);
          columns[d] += shard.width();
        }
        devices.add(new ComputeSample(shards, 1));
        List<SampledShard> some = shards.stream().filter(s -> s.width() == 128).toList();
        wide.add(new ComputeSample(some.isEmpty() ? shards : some, 1));
      }
      allToAlls.add(allToAll(columns, random));
    }
    SampleSet set = new SampleSet(tables, BATCH, devices, new TreeMap<>());
    SampleSet wideSet = new SampleSet(tables, BATCH, wide, new TreeMap<>());
    List<ComputeSample> measured = new ArrayList<>();
    CostModel model = Fixtures.model();
    try (TowerPredictor towers = new TensorFlowTowers(Fixtures.bundle())) {
      var predicted = Evaluation.of(model, towers, set).computations();
      var predictedWide = Evaluation.of(model, towers, wideSet).computations();
      for (int i = 0; i < devices.size(); i++) {
        boolean any = devices.get(i).shards().stream().anyMatch(s -> s.width() == 128);
        double ms =
            change.all()
                * (predicted.get(i).predictedMs()
                    + (any ? (change.wide() - 1) * predictedWide.get(i).predictedMs() : 0));
        measured.add(new ComputeSample(devices.get(i).shards(), ms * noise(random)));
      }
    }
    TreeMap<Integer, List<CommunicationSample>> communication = new TreeMap<>();
    communication.put(4, allToAlls);
    return new SampleSet(tables, BATCH, measured, communication);
  }

  private CommunicationSample allToAll(int[] columns, Random random) {
    CommunicationCost cost = Fixtures.model().evaluator().allToAll(Plans.elements(columns, BATCH));
    double[] starts = new double[columns.length];
    double[] forward = new double[columns.length];
    double[] backward = new double[columns.length];
    double last = 0;
    for (int d = 0; d < starts.length; d++) {
      starts[d] = 3 * random.nextDouble();
      last = Math.max(last, starts[d]);
    }
    for (int d = 0; d < starts.length; d++) {
      forward[d] = last - starts[d] + change.allToAll() * cost.forwardMs()[d] * noise(random);
      backward[d] = change.allToAll() * cost.backwardMs()[d] * noise(random);
    }
    return new CommunicationSample(columns, starts, forward, backward);
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
    return new SampleSet(samples.tables(), samples.batchSize(), compute, samples.communication());
  }
}
