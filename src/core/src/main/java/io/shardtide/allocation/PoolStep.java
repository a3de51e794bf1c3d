package io.shardtide.allocation;

import io.shardtide.pool.Allocation;
import io.shardtide.pool.AllocationPolicy;
import io.shardtide.pool.Claim;
import io.shardtide.pool.CurveReport;
import io.shardtide.pool.CurveRequest;
import io.shardtide.pool.Pool;
import io.shardtide.pool.PoolChange;
import io.shardtide.pool.PoolMember;
import io.shardtide.pool.PoolState;
import io.shardtide.pool.PoolUpdate;
import io.shardtide.pool.StoredPool;
import io.shardtide.pool.ThroughputCurve;
import io.shardtide.workload.CanonicalHash;
import io.shardtide.workload.Change;
import io.shardtide.workload.ClusterSpec;
import io.shardtide.workload.RejectedException;
import io.shardtide.workload.SpecHash;
import io.shardtide.workload.WorkloadChange;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.Set;
import java.util.TreeMap;
import java.util.UUID;
import java.util.stream.Stream;

/**
 * Applies events and curves to pools, and allocates them. An allocation names the generation, the
 * curves and the allocation that it was made from, so that it can be recomputed.
 *
 * @param policy how pools are allocated
 */
public record PoolStep(AllocationPolicy policy) {
  /** Begins the source of events that give a workload the cluster of a pool, before its id. */
  public static final String SOURCE_PREFIX = "pool ";

  /**
   * Applies an event.
   *
   * @param store state; unchanged if the event is rejected
   * @param event the event
   * @return requests for the curves of workloads whose claims changed
   * @throws RejectedException if the event is not applied
   */
  public List<CurveRequest> apply(PoolTables store, PoolChange event) {
    String id = event.poolId();
    store.applied().check("pool", id, event.eventId());
    StoredPool before = store.header(id);
    PoolState after = before.state().apply(event);
    List<PoolMember> changed = new ArrayList<>();
    Map<String, PoolMember> members = store.members().range(id);
    List<CurveRequest> withdrawn =
        members.values().stream()
            .map(member -> member.request().withdrawn())
            .filter(request -> !after.claims().containsKey(request.workloadId()))
            .toList();
    Set<PoolUpdate> updates = Set.copyOf(event.updates());
    for (Claim claim : after.claims().values()) {
      Pool pool = after.pool().orElseThrow();
      CurveRequest request =
          CurveRequest.of(
              id, claim.workloadId(), pool, List.copyOf(CurveSearch.devices(pool, claim)));
      PoolMember member = members.get(claim.workloadId());
      // A claim that is set again repeats its request: one on another pool may have been withdrawn.
      boolean isSet = updates.contains(new PoolUpdate.ClaimSet(claim));
      if (member == null || !member.request().equals(request) || isSet) {
        changed.add(
            member == null
                ? new PoolMember(request, Optional.empty(), Optional.empty(), false)
                : member.with(request));
      }
    }
    withdrawn.forEach(request -> store.members().delete(id, request.workloadId()));
    changed.forEach(store::put);
    store.put(before.with(after));
    store.applied().add(id, event.eventId(), after.generation());
    return Stream.concat(withdrawn.stream(), changed.stream().map(PoolMember::request)).toList();
  }

  /**
   * Takes a curve. The pool is due for an allocation if the throughput changed.
   *
   * @param store state
   * @param report the curve; ignored if the claim was withdrawn meanwhile
   * @param at when; informative
   * @return the event that gives the workload its cluster, if it has another one
   */
  public Optional<WorkloadChange> onCurve(PoolTables store, CurveReport report, Instant at) {
    Optional<PoolMember> member = store.members().get(report.poolId(), report.workloadId());
    if (member.isEmpty()) {
      return Optional.empty();
    }
    PoolMember after = member.get().with(report);
    StoredPool header = store.header(report.poolId());
    if (!sameThroughput(header.state(), member.get(), after)) {
      store.put(after);
      store.put(header.due());
      return Optional.empty();
    }
    Optional<Sent> sent =
        header.isDue()
            ? Optional.empty()
            : header.allocation().flatMap(allocation -> send(header, allocation, after, at));
    store.put(sent.map(Sent::member).orElse(after));
    return sent.map(Sent::change);
  }

  /**
   * Returns whether two curves are the same wherever the workload may be. A pool with fewer nodes
   * requests fewer points, which alone must not lead to another allocation.
   */
  private static boolean sameThroughput(PoolState state, PoolMember member, PoolMember next) {
    Optional<ThroughputCurve> before = member.curve();
    Optional<ThroughputCurve> after = next.curve();
    if (before.isEmpty() || after.isEmpty()) {
      return before.isPresent() == after.isPresent();
    }
    Pool pool = state.pool().orElseThrow();
    Claim claim = state.claims().get(next.request().workloadId());
    return pool.counts(claim)
        .map(nodes -> pool.devices(claim, nodes))
        .allMatch(d -> before.get().samplesPerSecond(d).equals(after.get().samplesPerSecond(d)));
  }

  /**
   * Allocates a pool that is due.
   *
   * @param store state
   * @param poolId the pool
   * @param at when; informative
   * @return empty if the pool is not due
   */
  public Optional<PoolDecision> allocate(PoolTables store, String poolId, Instant at) {
    StoredPool header = store.header(poolId);
    if (!header.isDue()) {
      return Optional.empty();
    }
    Map<String, PoolMember> members = store.members().range(poolId);
    Map<String, ThroughputCurve> curves = new TreeMap<>();
    members.forEach(
        (workloadId, member) -> member.curve().ifPresent(curve -> curves.put(workloadId, curve)));
    Allocation allocation =
        Allocator.allocate(
            new AllocationRequest(header.state(), curves, header.allocation(), policy));
    StoredPool after = header.with(allocation);
    List<Sent> sent =
        members.values().stream()
            .flatMap(member -> send(after, allocation, member, at).stream())
            .toList();
    store.put(after);
    sent.forEach(of -> store.put(of.member()));
    return Optional.of(new PoolDecision(allocation, sent.stream().map(Sent::change).toList()));
  }

  /** Returns whether a claim has no curve yet for all that it allows. */
  public boolean waitsForCurves(PoolTables store, String poolId) {
    return store.members().range(poolId).values().stream().anyMatch(PoolMember::waitsForCurve);
  }

  /**
   * An event that gives a workload its cluster.
   *
   * @param member the workload after it
   * @param change the event
   */
  private record Sent(PoolMember member, WorkloadChange change) {}

  /**
   * Returns the event that gives a workload the cluster of its allocation. There is none if the
   * cluster was sent and the workload does not have another one since.
   */
  private static Optional<Sent> send(
      StoredPool header, Allocation allocation, PoolMember member, Instant at) {
    String workloadId = member.request().workloadId();
    Optional<Pool> pool = header.state().pool();
    Optional<ClusterSpec> wanted =
        allocation
            .of(workloadId)
            .filter(w -> w.devices() > 0)
            .flatMap(
                w -> member.cluster().flatMap(c -> pool.flatMap(p -> p.clusterOf(c, w.devices()))));
    if (wanted.isEmpty()
        || wanted.equals(member.cluster())
        || (wanted.equals(member.sent()) && !member.isConfirmed())) {
      return Optional.empty();
    }
    WorkloadChange change =
        new WorkloadChange(
            clusterEventId(
                allocation.allocationId(),
                workloadId,
                member.curve().orElseThrow().generation(),
                wanted.get()),
            workloadId,
            at,
            SOURCE_PREFIX + header.state().id(),
            OptionalLong.empty(),
            List.of(new Change.ClusterSet(wanted.get())));
    return Optional.of(new Sent(member.sent(wanted.get()), change));
  }

  /**
   * Returns the id of the event that gives a workload its cluster, which tells the allocation.
   *
   * @param allocationId the allocation
   * @param workloadId the workload
   * @param curveGeneration the workload's generation in its curve at that time
   * @param cluster the cluster that it gets
   */
  public static UUID clusterEventId(
      String allocationId, String workloadId, long curveGeneration, ClusterSpec cluster) {
    CanonicalHash hash =
        new CanonicalHash("cluster of a pool 2")
            .put(allocationId)
            .put(workloadId)
            .put(curveGeneration);
    SpecHash.put(hash, cluster);
    return hash.uuid();
  }
}
