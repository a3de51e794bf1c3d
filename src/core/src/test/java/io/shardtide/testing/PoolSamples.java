package io.shardtide.testing;

import io.shardtide.pool.Allocation;
import io.shardtide.pool.AllocationChange;
import io.shardtide.pool.AllocationPolicy;
import io.shardtide.pool.AllocationQuality;
import io.shardtide.pool.Claim;
import io.shardtide.pool.CurvePoint;
import io.shardtide.pool.CurveReport;
import io.shardtide.pool.CurveRequest;
import io.shardtide.pool.NodeLinks;
import io.shardtide.pool.NodeTransfer;
import io.shardtide.pool.Pool;
import io.shardtide.pool.PoolChange;
import io.shardtide.pool.PoolLinks;
import io.shardtide.pool.PoolMember;
import io.shardtide.pool.PoolNode;
import io.shardtide.pool.PoolState;
import io.shardtide.pool.PoolUpdate;
import io.shardtide.pool.RackLinks;
import io.shardtide.pool.RackPair;
import io.shardtide.pool.RingPrediction;
import io.shardtide.pool.StoredPool;
import io.shardtide.pool.ThroughputCurve;
import io.shardtide.pool.WorkloadAllocation;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.TreeMap;
import java.util.UUID;

/** Pools, events, curves and an allocation. */
public final class PoolSamples {
  public static final String POOL = "gpus";

  private PoolSamples() {}

  /** What an allocation does with a node that a workload loses; empty if it does not lose it. */
  public static Optional<NodeTransfer> transfer(
      Allocation allocation, String workloadId, String node) {
    return allocation.transfers().stream()
        .filter(t -> t.from().equals(workloadId) && t.node().equals(node))
        .findFirst();
  }

  /** Returns a pool of nodes n1, n2 ... of one device each, of the hardware of most tests. */
  public static Pool pool(int nodes, long memoryBytes) {
    List<PoolNode> list = new ArrayList<>();
    for (int n = 1; n <= nodes; n++) {
      list.add(new PoolNode("n" + n, n % 2 == 0 ? "even" : ""));
    }
    return Pool.of(1, memoryBytes, 0, Fixtures.HARDWARE, list);
  }

  /** Returns an event of the pool. */
  public static PoolChange event(PoolUpdate... updates) {
    return new PoolChange(UUID.randomUUID(), POOL, Fixtures.TIME, "test", List.of(updates));
  }

  /** Returns a pool whose links were measured. */
  public static Pool measured(Pool pool, PoolLinks links) {
    return pool.withLinks(links);
  }

  private static PoolLinks racks() {
    return new RackLinks(20, 5, new TreeMap<>(Map.of(RackPair.of("even", ""), 4.5)));
  }

  private static PoolLinks matrix() {
    return new NodeLinks(
        List.of("n2", "n3", "n1"),
        List.of(List.of(0.0, 1.5, 2.5), List.of(1.5, 0.0, 3.5), List.of(2.5, 3.5, 0.0)));
  }

  /** Returns a claim. */
  public static PoolUpdate claim(String workloadId, int least, int most, double weight) {
    return new PoolUpdate.ClaimSet(new Claim(workloadId, least, most, weight, 0));
  }

  /** Returns an event with updates of all kinds. */
  public static PoolChange change() {
    return event(
        new PoolUpdate.PoolSet(pool(3, Fixtures.GIB)),
        new PoolUpdate.PoolSet(measured(pool(3, Fixtures.GIB), racks())),
        new PoolUpdate.PoolSet(measured(pool(3, Fixtures.GIB), matrix())),
        new PoolUpdate.PoolNodeAdded(new PoolNode("n4", "rack")),
        new PoolUpdate.PoolNodeLost("n1"),
        claim("w", 1, 4, 2.5),
        new PoolUpdate.ClaimWithdrawn("w"));
  }

  public static CurveRequest request() {
    return CurveRequest.of(POOL, "w", pool(3, Fixtures.GIB), List.of(1, 2, 3));
  }

  public static CurveReport report() {
    return new CurveReport(
        POOL,
        "w",
        Optional.of(
            new ThroughputCurve(
                "w",
                7,
                "model",
                Samples.cluster(),
                List.of(
                    new CurvePoint(1, OptionalDouble.empty()),
                    new CurvePoint(2, OptionalDouble.of(3.25))))));
  }

  public static Allocation allocation() {
    return new Allocation(
            "",
            POOL,
            5,
            Optional.of("before"),
            AllocationPolicy.DEFAULTS,
            new TreeMap<>(Map.of("w", "curve")),
            List.of(
                new WorkloadAllocation(
                    "w",
                    List.of("n2", "n1"),
                    2,
                    10.5,
                    1.5,
                    AllocationChange.GREW,
                    "grows",
                    Optional.of(new RingPrediction(5, 2.5, 6, 1.25))),
                new WorkloadAllocation(
                    "x", List.of(), 0, 0, 0, AllocationChange.STOPPED, "stops", Optional.empty())),
            List.of(
                new NodeTransfer("n2", "x", Optional.of("w"), "w grows"),
                new NodeTransfer("n3", "x", Optional.empty(), "freed")),
            new AllocationQuality(10.5, 0.01, 0.25, 1))
        .identified();
  }

  public static StoredPool header() {
    PoolState state =
        PoolState.empty(POOL)
            .apply(
                event(
                    new PoolUpdate.PoolSet(measured(pool(3, Fixtures.GIB), matrix())),
                    claim("w", 1, 4, 2.5)))
            .apply(
                event(
                    new PoolUpdate.PoolNodeLost("n1"),
                    new PoolUpdate.PoolNodeLost("n2"),
                    new PoolUpdate.PoolNodeLost("n3")));
    return StoredPool.empty(POOL).with(state).with(allocation());
  }

  public static PoolMember member() {
    return new PoolMember(request(), Optional.of(report()), Optional.of(Samples.cluster()), true);
  }
}
