package io.shardtide.pool;

import io.shardtide.workload.Limits;
import java.util.OptionalDouble;

/**
 * The predicted step of a workload on a number of devices.
 *
 * @param devices number of devices, at least 1
 * @param stepMs predicted cost of one step in milliseconds, above 0; empty if the tables do not fit
 */
public record CurvePoint(int devices, OptionalDouble stepMs) {
  /** Stands in ids for a step of tables that do not fit: no predicted step. */
  static final double DOES_NOT_FIT = 0;

  /** Checks the ranges. */
  public CurvePoint {
    Limits.ARGUMENTS.atLeast("devices", devices, 1);
    stepMs.ifPresent(ms -> Limits.ARGUMENTS.above("stepMs", ms, 0));
  }
}
