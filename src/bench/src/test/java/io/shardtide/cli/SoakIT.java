package io.shardtide.cli;

import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Three brokers and three planners with faults, and the check of everything on the log. */
@Tag("nightly")
class SoakIT {
  @Test
  void a_short_soak_finds_nothing() {
    // Its status says whether all that it checked holds.
    BenchOutput.bench("soak", "--minutes", "1.5", "--seed", "2", "--per-second", "3");
  }
}
