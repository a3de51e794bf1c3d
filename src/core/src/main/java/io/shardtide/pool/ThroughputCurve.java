package io.shardtide.pool;

import io.shardtide.workload.CanonicalHash;
import io.shardtide.workload.ClusterSpec;
import io.shardtide.workload.Limits;
import java.util.List;
import java.util.OptionalDouble;

/**
 * The predicted throughput of a workload by number of devices, at a batch over all devices that
 * stays the same.
 *
 * @param workloadId the workload
 * @param generation the workload's generation
 * @param modelId the cost model
 * @param cluster the workload's cluster in that generation, whose batch holds for all points
 * @param points predicted steps, ascending by devices, at least one
 */
public record ThroughputCurve(
    String workloadId,
    long generation,
    String modelId,
    ClusterSpec cluster,
    List<CurvePoint> points) {
  /** Checks the order of the points. */
  public ThroughputCurve {
    points = List.copyOf(points);
    Limits.ARGUMENTS.atLeast("points", points.size(), 1);
    for (int p = 1; p < points.size(); p++) {
      if (points.get(p - 1).devices() >= points.get(p).devices()) {
        throw new IllegalArgumentException(
            "devices of points must ascend, got %s before %s"
                .formatted(points.get(p - 1).devices(), points.get(p).devices()));
      }
    }
  }

  /** Returns the SHA-256 of the curve in hexadecimal digits. */
  public String id() {
    return new CanonicalHash("throughput curve 1")
        .put(workloadId)
        .put(generation)
        .put(modelId)
        .put(cluster.batchSize())
        .put(points)
        .hex();
  }

  /**
   * Returns the predicted samples a second. Between two points it is linear in the number of
   * devices: below a concave curve. Beyond the last point it is that of the last point.
   *
   * @param devices number of devices, at least 1
   * @return empty if the tables do not fit, or that is not known: before the first point, or
   *     between a point that fits and one that does not
   */
  public OptionalDouble samplesPerSecond(int devices) {
    int after = (int) points.stream().takeWhile(point -> point.devices() < devices).count();
    CurvePoint high = points.get(Math.min(after, points.size() - 1));
    OptionalDouble atHigh = samplesPerSecond(high.stepMs());
    if (high.devices() <= devices) {
      return atHigh;
    }
    if (after == 0) {
      return OptionalDouble.empty();
    }
    CurvePoint low = points.get(after - 1);
    OptionalDouble atLow = samplesPerSecond(low.stepMs());
    if (atLow.isEmpty() || atHigh.isEmpty()) {
      return OptionalDouble.empty();
    }
    double share = (double) (devices - low.devices()) / (high.devices() - low.devices());
    return OptionalDouble.of(
        atLow.getAsDouble() + share * (atHigh.getAsDouble() - atLow.getAsDouble()));
  }

  /**
   * Returns the fewest devices that have the throughput of a number of devices: a workload for
   * which more are no better uses fewer.
   *
   * @param devices number of devices, at least 1
   */
  public int fewest(int devices) {
    OptionalDouble samples = samplesPerSecond(devices);
    return points.stream()
        .filter(point -> point.devices() < devices)
        .filter(point -> samples.isPresent() && samplesPerSecond(point.stepMs()).equals(samples))
        .mapToInt(CurvePoint::devices)
        .findFirst()
        .orElse(devices);
  }

  /** Returns the samples a second of a step in milliseconds; empty if there is none. */
  public OptionalDouble samplesPerSecond(OptionalDouble stepMs) {
    return stepMs.isPresent()
        ? OptionalDouble.of(cluster.batchSize() * 1e3 / stepMs.getAsDouble())
        : OptionalDouble.empty();
  }
}
