package io.shardtide.cli;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Benchmarks run and say what they measured; how fast is for people to read. */
class BenchIT {
  private static String bench(String... options) {
    StringWriter out = new StringWriter();
    StringWriter err = new StringWriter();
    String[] args = new String[options.length + 1];
    args[0] = "bench";
    System.arraycopy(options, 0, args, 1, options.length);
    int status = Shardtide.run(new PrintWriter(out), new PrintWriter(err), args);
    assertThat(status).as(err.toString()).isZero();
    return out.toString();
  }

  @Test
  void every_micro_benchmark_runs() {
    assertThat(bench("model", "--brief"))
        .contains("head ", "headInTensorFlow ", "tower ", "exchange ", "load ", "loadCold ")
        .contains("a second");
  }

  @Test
  void detectors_are_compared_on_every_kind_of_series() {
    assertThat(bench("detectors", "--series", "2"))
        .contains("median-band", "ewma", "cusum", "page-hinkley", "adwin")
        .contains("nothing", "spikes", "heavier noise", "step", "slope", "one slow device")
        .contains("detected %", "median delay", "false alarms in 1,000", "ns a value");
  }

  @Test
  void plans_of_this_machine_are_measured_against_others() {
    assertThat(bench("trainer", "--plans", "4", "--workloads", "1", "--devices", "2"))
        .containsPattern("4 random plans on 2 devices: predicted cost off by [0-9.]+ %")
        .containsPattern("\\| lookup-greedy +\\| +1 \\|")
        .contains("size-greedy", "random");
  }

  /** A machine that becomes four times slower is noticed and learned, and all of it replays. */
  @Test
  void a_drift_is_noticed_and_learned_and_its_plans_are_made_again(@TempDir Path folder) {
    Path life = folder.resolve("life");
    String table =
        bench(
            "drift",
            "--factor",
            "4",
            "--steps",
            "5",
            "--before",
            "48",
            "--trainings",
            "1",
            "--after",
            "8",
            "--rest-seeds",
            "0",
            "--out",
            life.toString());
    assertThat(table)
        .containsPattern("reports from the change of the machine to the alarm \\| +\\d+ \\|")
        .contains("after it changed", "after the first training", "alarm: MODEL, COMPUTE")
        .contains("training (DRIFT): The challenger takes over");
    StringWriter out = new StringWriter();
    StringWriter err = new StringWriter();
    int status =
        Shardtide.run(
            new PrintWriter(out),
            new PrintWriter(err),
            "replay",
            "--events",
            life.resolve("events.jsonl").toString(),
            "--out",
            folder.resolve("made.jsonl").toString());
    assertThat(status).as(out + "\n" + err).isZero();
    assertThat(out.toString()).contains("equal").doesNotContain("differs");
  }

  @Test
  void latency_says_where_the_time_goes_and_loses_nothing() {
    assertThat(bench("latency", "--models", "small", "--changes", "5", "--per-second", "5"))
        .contains("26 tables, 8 devices: 5 changes in ")
        .contains("none lost")
        .contains("TensorFlow ", "quiet period ", "search ", "median ms", "p99 ms", "share %");
  }

  @Test
  void load_answers_every_change_and_shows_memory() {
    assertThat(bench("load", "--workloads", "5", "--per-second", "20", "--seconds", "3"))
        .containsPattern("\\| changes +\\| +60 \\|")
        .containsPattern("\\| lost +\\| +0 \\|")
        .contains("change to plan, p99", "heap after collection, slope");
  }

  @Test
  void fold_counts_what_it_folds() {
    // It fails by itself if a generation is missing.
    assertThat(bench("fold", "--changes", "10000", "--workloads", "3", "--tables", "10"))
        .contains("folding alone", "10,000")
        .contains("with predictions", "1,000")
        .contains("changes/s");
  }

  @Test
  void restart_serves_from_kept_state_and_from_the_changelog() {
    assertThat(bench("restart", "--workloads", "3", "--tables", "10"))
        .contains("3 workloads of 10 tables, state kept")
        .contains("3 workloads of 10 tables, state from the changelog");
  }

  @Test
  void too_few_changes_are_named() {
    StringWriter err = new StringWriter();
    int status =
        Shardtide.run(
            new PrintWriter(new StringWriter()),
            new PrintWriter(err),
            "bench",
            "fold",
            "--changes",
            "10");
    assertThat(status).isEqualTo(1);
    assertThat(err.toString()).contains("10 changes; legal are 10000 and more");
  }
}
