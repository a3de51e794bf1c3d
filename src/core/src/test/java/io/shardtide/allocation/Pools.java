package io.shardtide.allocation;

import io.shardtide.pool.Allocation;
import io.shardtide.pool.AllocationPolicy;
import io.shardtide.pool.Claim;
import io.shardtide.pool.CurvePoint;
import io.shardtide.pool.Pool;
import io.shardtide.pool.PoolChange;
import io.shardtide.pool.PoolNode;
import io.shardtide.pool.PoolState;
import io.shardtide.pool.PoolUpdate;
import io.shardtide.pool.ThroughputCurve;
import io.shardtide.workload.ClusterSpec;
import java.time.Instant;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.Random;
import java.util.UUID;

/** Pools with claims, and workloads whose throughput is known. */
final class Pools {
  static final int DEVICES_PER_NODE = 4;
  static final AllocationPolicy POLICY = new AllocationPolicy(2, 0.5, 60, 86_400, 20_000);
  private static final int RACK = 3;

  private final Map<String, ThroughputCurve> curves = new HashMap<>();
  private PoolState state = PoolState.empty("pool");
  private Optional<Allocation> last = Optional.empty();

  /** A pool of nodes of 4 devices, three in a rack: node-00, node-01 and so on. */
  Pools(int nodes) {
    List<PoolNode> all = new ArrayList<>();
    for (int n = 0; n < nodes; n++) {
      all.add(node(n));
    }
    apply(new PoolUpdate.PoolSet(Pool.of(DEVICES_PER_NODE, 1L << 34, 0, "simulated-8xh100", all)));
  }

  /** A random pool with up to six workloads, not yet allocated. */
  static Pools random(Random random) {
    Pools pools = new Pools(4 + random.nextInt(10));
    int workloads = 1 + random.nextInt(6);
    for (int w = 0; w < workloads; w++) {
      pools.claimRandomly("w" + w, random);
    }
    return pools;
  }

  static PoolNode node(int number) {
    return new PoolNode("node-%02d".formatted(number), "rack-" + number / RACK);
  }

  PoolState state() {
    return state;
  }

  Optional<Allocation> last() {
    return last;
  }

  Map<String, ThroughputCurve> curves() {
    return curves;
  }

  Pools apply(PoolUpdate update) {
    state =
        state.apply(
            new PoolChange(
                new UUID(0, state.generation()),
                state.id(),
                Instant.EPOCH,
                "test",
                List.of(update)));
    return this;
  }

  Pools lose(int node) {
    return apply(new PoolUpdate.PoolNodeLost(node(node).name()));
  }

  /** A claim in nodes, with a share of the step that more devices do not shorten. */
  Pools claim(String id, int least, int most, double weight, int priority, double fixed) {
    apply(
        new PoolUpdate.ClaimSet(
            new Claim(id, least * DEVICES_PER_NODE, most * DEVICES_PER_NODE, weight, priority)));
    curves.put(id, curve(id, fixed, 100));
    return this;
  }

  /** Equal weights and priorities. */
  Pools claim(String id, int least, int most, double fixed) {
    return claim(id, least, most, 1, 0, fixed);
  }

  private void claimRandomly(String id, Random random) {
    int least = 1 + random.nextInt(4);
    claim(
        id,
        least,
        least + random.nextInt(8),
        0.5 + random.nextInt(3),
        random.nextInt(3),
        random.nextDouble());
  }

  /** Changes the pool, a claim or a curve. */
  void change(Random random) {
    List<String> nodes = List.copyOf(state.pool().orElseThrow().nodes().keySet());
    switch (random.nextInt(5)) {
      case 0 -> {
        if (!nodes.isEmpty()) {
          apply(new PoolUpdate.PoolNodeLost(nodes.get(random.nextInt(nodes.size()))));
        }
      }
      case 1 -> {
        int number = random.nextInt(20);
        if (!nodes.contains(node(number).name())) {
          apply(new PoolUpdate.PoolNodeAdded(node(number)));
        }
      }
      case 2 -> claimRandomly("w" + random.nextInt(6), random);
      case 3 -> {
        if (!state.claims().isEmpty()) {
          apply(new PoolUpdate.ClaimWithdrawn(state.claims().firstKey()));
        }
      }
      default -> curves.replaceAll((id, curve) -> curve(id, random.nextDouble(), 100));
    }
  }

  AllocationRequest request(AllocationPolicy policy) {
    return new AllocationRequest(state, curves, last, policy);
  }

  Allocation allocate() {
    return allocate(POLICY);
  }

  Allocation allocate(AllocationPolicy policy) {
    Allocation next = Allocator.allocate(request(policy));
    last = Optional.of(next);
    return next;
  }

  /** Amdahl's law: of 100 ms on a device, a share stays whatever the number of devices. */
  static ThroughputCurve curve(String id, double fixed, int most) {
    List<CurvePoint> points = new ArrayList<>();
    for (int devices = 1; devices <= most; devices++) {
      points.add(new CurvePoint(devices, OptionalDouble.of(100 * (fixed + (1 - fixed) / devices))));
    }
    return curve(id, points);
  }

  /** Returns a curve of a batch of 1,000. */
  static ThroughputCurve curve(String id, List<CurvePoint> points) {
    return new ThroughputCurve(
        id, 1, "model", new ClusterSpec(4, 1L << 30, 1_000, 4, "h100"), points);
  }
}
