package io.shardtide.bench.learning;

import io.shardtide.bench.learning.SimulatedMachine.SimulatedStep;
import java.util.Random;

/** How right the reports of trainers are. */
enum Reporters {
  /** All are right, up to noise. */
  RIGHT,
  /** A fifth of the computations and collectives is 0.4 to 2.5 times what it was. */
  FIFTH_WRONG,
  /** One of three sources reports twice what it measured of computations. */
  ONE_LIES;

  private static final int SOURCES = 3;

  /** Returns the source of a report. */
  String source(int report) {
    return this == ONE_LIES ? "trainer-" + report % SOURCES : "trainer";
  }

  /** Returns what is reported of a step. */
  SimulatedStep reported(SimulatedStep step, int report, Random random) {
    return switch (this) {
      case RIGHT -> step;
      case FIFTH_WRONG -> step.scaled(() -> random.nextInt(5) == 0 ? wrong(random) : 1);
      case ONE_LIES -> report % SOURCES == 0 ? step.withComputations(2) : step;
    };
  }

  private static double wrong(Random random) {
    return StrictMath.exp((2 * random.nextDouble() - 1) * StrictMath.log(2.5));
  }
}
