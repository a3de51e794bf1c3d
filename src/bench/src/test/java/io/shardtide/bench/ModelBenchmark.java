package io.shardtide.bench;

import io.shardtide.cost.AddedMs;
import io.shardtide.cost.CostEvaluator;
import io.shardtide.cost.CostModel;
import io.shardtide.cost.ModelBundle;
import io.shardtide.cost.StepCollectives;
import io.shardtide.cost.TablePrediction;
import io.shardtide.cost.TowerSums;
import io.shardtide.cost.tensorflow.TensorFlowHead;
import io.shardtide.cost.tensorflow.TensorFlowTowers;
import io.shardtide.models.ModelFiles;
import io.shardtide.workload.ClusterSpec;
import io.shardtide.workload.TableSpec;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Measurement;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OperationsPerInvocation;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Param;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.TearDown;
import org.openjdk.jmh.annotations.Warmup;

/** Prediction times of a model. */
@State(Scope.Benchmark)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
@Warmup(iterations = 3, time = 1)
@Measurement(iterations = 5, time = 1)
public class ModelBenchmark {
  private static final int BATCH_SIZE = 65_536;
  private static final int TABLES = 128;
  private static final int COLUMNS = 128;
  private static final int TOWERS = TABLES * COLUMNS / TableSpec.COLUMN_UNIT;
  private static final int DEVICES = 1024;
  private static final ClusterSpec CLUSTER =
      new ClusterSpec(DEVICES, 1L << 40, 65_536, 8, "benchmark");

  /** File of the model. */
  @Param("models/simulated.avro")
  public String model;

  private ModelBundle bundle;
  private byte[] file;
  private TensorFlowTowers towers;
  private CostEvaluator evaluator;
  private List<TableSpec> tables;
  private double[][] sums;
  private double[] elements;
  private int next;

  /** The head in TensorFlow, which only models without launch groups have, and its inputs. */
  @State(Scope.Benchmark)
  public static class HeadInTensorFlow {
    private TensorFlowHead head;
    private float[] oneSum;
    private float[] allSums;

    /** Builds the graph. */
    @Setup
    public void setUp(ModelBenchmark inputs) {
      head = new TensorFlowHead(inputs.bundle);
      int size = inputs.sums[0].length;
      allSums = new float[DEVICES * size];
      for (int i = 0; i < allSums.length; i++) {
        allSums[i] = (float) inputs.sums[i / size][i % size];
      }
      oneSum = Arrays.copyOf(allSums, size);
    }

    /** Closes the session. */
    @TearDown
    public void tearDown() {
      head.close();
    }
  }

  /** Loads the model and computes the inputs of its heads. */
  @Setup
  public void setUp() throws IOException {
    file = Files.readAllBytes(Path.of(model));
    bundle = ModelFiles.read(model, file);
    towers = new TensorFlowTowers(bundle);
    evaluator = new CostModel(bundle).evaluator();
    tables = SyntheticTables.of(TABLES, COLUMNS, 1);
    List<TablePrediction> predictions = towers.predict(tables, BATCH_SIZE);
    sums = new double[DEVICES][evaluator.sumSize()];
    elements = new double[DEVICES];
    for (int d = 0; d < DEVICES; d++) {
      for (int s = 0; s <= d % 10; s++) {
        int width = TableSpec.COLUMN_UNIT * (1 + (d + s) % (COLUMNS / TableSpec.COLUMN_UNIT));
        float[] tower = predictions.get((d + 7 * s) % TABLES).tower(width);
        TowerSums.add(sums[d], evaluator.addend(tower, false, Float.BYTES, AddedMs.NONE));
        elements[d] += (double) width * BATCH_SIZE;
      }
    }
  }

  /** Closes TensorFlow's session. */
  @TearDown
  public void tearDown() {
    towers.close();
  }

  /** The tower of one shard, in a batch of 128 tables with 32 widths each. */
  @Benchmark
  @OperationsPerInvocation(TOWERS)
  public List<TablePrediction> tower() {
    return towers.predict(tables, BATCH_SIZE);
  }

  /** The tower of one shard in a separate call. */
  @Benchmark
  public List<TablePrediction> towerInSeparateCall() {
    return towers.predict(
        tables.subList(0, 1).stream().map(t -> t.withColumns(4)).toList(), BATCH_SIZE);
  }

  /** The computation of a device in plain Java, as evaluated by the search. */
  @Benchmark
  public double head() {
    next = (next + 1) % DEVICES;
    return evaluator.computeMs(sums[next]);
  }

  /** The computation of a device in TensorFlow. */
  @Benchmark
  public float[] headInTensorFlow(HeadInTensorFlow tensorFlow) {
    return tensorFlow.head.computeMs(tensorFlow.oneSum);
  }

  /** The computation of a device in a TensorFlow batch of 1,024 devices. */
  @Benchmark
  @OperationsPerInvocation(DEVICES)
  public float[] headInTensorFlowBatch(HeadInTensorFlow tensorFlow) {
    return tensorFlow.head.computeMs(tensorFlow.allSums);
  }

  /** The all-to-alls of one of 1,024 devices, both directions. */
  @Benchmark
  @OperationsPerInvocation(DEVICES)
  public Object allToAll() {
    return StepCollectives.of(CLUSTER).allToAll(evaluator, elements);
  }

  /** Reads and validates the bundle's file. */
  @Benchmark
  public ModelBundle load() {
    return ModelFiles.read(model, file);
  }
}
