package io.shardtide.bench;

import io.shardtide.cost.ModelBundle;
import io.shardtide.models.ModelFiles;
import java.util.concurrent.TimeUnit;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Fork;
import org.openjdk.jmh.annotations.Measurement;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.Warmup;

/** Time to load a model bundle in a new process. */
@State(Scope.Benchmark)
@BenchmarkMode(Mode.SingleShotTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
@Fork(5)
@Warmup(iterations = 0)
@Measurement(iterations = 1)
public class ColdLoadBenchmark {
  private byte[] file;

  /** Reads the file. */
  @Setup
  public void setUp() {
    file = ModelFiles.shippedBytes();
  }

  /** Reads and validates the bundle, class loading included. */
  @Benchmark
  public ModelBundle loadCold() {
    return ModelFiles.read("the shipped model", file);
  }
}
