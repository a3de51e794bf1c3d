package io.shardtide.cli;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.PrintWriter;
import java.io.StringWriter;
import org.junit.jupiter.api.Test;

/** Benchmarks run and say what they measured; how fast is for people to read. */
class BenchIT {
  @Test
  void every_benchmark_runs() {
    StringWriter out = new StringWriter();
    StringWriter err = new StringWriter();
    int status =
        Shardtide.run(new PrintWriter(out), new PrintWriter(err), "bench", "model", "--brief");
    assertThat(status).as(err.toString()).isZero();
    assertThat(out.toString())
        .contains("head ", "headInTensorFlow ", "tower ", "exchange ", "load ", "loadCold ")
        .contains("a second");
  }
}
