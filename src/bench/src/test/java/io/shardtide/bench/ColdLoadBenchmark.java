package io.shardtide.bench;

import io.shardtide.cost.ModelBundle;
import io.shardtide.models.ModelFiles;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.TimeUnit;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Fork;
import org.openjdk.jmh.annotations.Measurement;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Param;
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
  /** File of the model. */
  @Param("models/simulated.avro")
  public String model;

  private byte[] file;

  /** Reads the file. */
  @Setup
  public void setUp() throws IOException {
    file = Files.readAllBytes(Path.of(model));
  }

  /** Reads and validates the bundle, class loading included. */
  @Benchmark
  public ModelBundle loadCold() {
    return ModelFiles.read(model, file);
  }
}
