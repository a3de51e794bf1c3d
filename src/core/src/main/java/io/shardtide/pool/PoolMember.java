package io.shardtide.pool;

import io.shardtide.workload.ClusterSpec;
import java.util.List;
import java.util.Optional;

/**
 * State of a workload with a claim.
 *
 * @param request the curve that was requested last
 * @param report the latest curve, if there was one
 * @param sent the cluster that was sent to the workload last, if one was
 * @param isConfirmed whether the workload had that cluster since
 */
public record PoolMember(
    CurveRequest request,
    Optional<CurveReport> report,
    Optional<ClusterSpec> sent,
    boolean isConfirmed) {

  /** Returns the latest curve; empty before the first, and if the workload is deleted. */
  public Optional<ThroughputCurve> curve() {
    return report.flatMap(CurveReport::curve);
  }

  /** Returns the workload's cluster, as of the latest curve. */
  public Optional<ClusterSpec> cluster() {
    return curve().map(ThroughputCurve::cluster);
  }

  /** Returns whether it has no curve yet for all that its claim allows. */
  public boolean waitsForCurve() {
    return report.isEmpty() || curve().filter(known -> !covers(known)).isPresent();
  }

  private boolean covers(ThroughputCurve known) {
    List<Integer> wanted = request.devices();
    List<CurvePoint> points = known.points();
    return wanted.isEmpty()
        || (points.get(0).devices() <= wanted.get(0)
            && points.get(points.size() - 1).devices() >= wanted.get(wanted.size() - 1));
  }

  /** Returns the state after another request. */
  public PoolMember with(CurveRequest next) {
    return new PoolMember(next, report, sent, isConfirmed);
  }

  /** Returns the state after a curve. */
  public PoolMember with(CurveReport next) {
    return new PoolMember(
        request,
        Optional.of(next),
        sent,
        isConfirmed
            || (sent.isPresent() && next.curve().map(ThroughputCurve::cluster).equals(sent)));
  }

  /** Returns the state after a cluster was sent. */
  public PoolMember sent(ClusterSpec cluster) {
    return new PoolMember(
        request, report, Optional.of(cluster), cluster().equals(Optional.of(cluster)));
  }
}
