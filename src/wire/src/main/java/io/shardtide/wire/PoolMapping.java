package io.shardtide.wire;

import io.shardtide.avro.ClaimSet;
import io.shardtide.avro.ClaimWithdrawn;
import io.shardtide.avro.PoolClaim;
import io.shardtide.avro.PoolNodeAdded;
import io.shardtide.avro.PoolNodeLost;
import io.shardtide.avro.PoolSet;
import io.shardtide.avro.PoolSpec;
import io.shardtide.domain.pool.Claim;
import io.shardtide.domain.pool.Pool;
import io.shardtide.domain.pool.PoolChange;
import io.shardtide.domain.pool.PoolNode;
import io.shardtide.domain.pool.PoolState;
import io.shardtide.domain.pool.PoolUpdate;
import io.shardtide.domain.pool.StoredPool;
import java.time.temporal.ChronoUnit;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.SortedMap;
import java.util.TreeMap;

/** Pools and the claims on them. */
final class PoolMapping {
  private PoolMapping() {}

  static io.shardtide.avro.PoolChange toAvro(PoolChange event) {
    List<Object> changes = new ArrayList<>();
    for (PoolUpdate update : event.updates()) {
      if (update instanceof PoolUpdate.PoolSet set) {
        changes.add(new PoolSet(toAvro(set.pool())));
      } else if (update instanceof PoolUpdate.PoolNodeAdded added) {
        changes.add(new PoolNodeAdded(toAvro(added.node())));
      } else if (update instanceof PoolUpdate.PoolNodeLost lost) {
        changes.add(new PoolNodeLost(lost.node()));
      } else if (update instanceof PoolUpdate.ClaimSet set) {
        changes.add(new ClaimSet(toAvro(set.claim())));
      } else if (update instanceof PoolUpdate.ClaimWithdrawn withdrawn) {
        changes.add(new ClaimWithdrawn(withdrawn.workloadId()));
      }
    }
    return new io.shardtide.avro.PoolChange(
        event.eventId(),
        event.poolId(),
        event.occurredAt().truncatedTo(ChronoUnit.MILLIS),
        event.source(),
        changes);
  }

  static PoolChange fromAvro(io.shardtide.avro.PoolChange avro) {
    List<PoolUpdate> updates = new ArrayList<>();
    for (Object change : avro.getChanges()) {
      if (change instanceof PoolSet set) {
        updates.add(new PoolUpdate.PoolSet(setFromAvro(set.getPool())));
      } else if (change instanceof PoolNodeAdded added) {
        updates.add(new PoolUpdate.PoolNodeAdded(fromAvro(added.getNode())));
      } else if (change instanceof PoolNodeLost lost) {
        updates.add(new PoolUpdate.PoolNodeLost(lost.getNode()));
      } else if (change instanceof ClaimSet set) {
        updates.add(new PoolUpdate.ClaimSet(fromAvro(set.getClaim())));
      } else if (change instanceof ClaimWithdrawn withdrawn) {
        updates.add(new PoolUpdate.ClaimWithdrawn(withdrawn.getWorkloadId()));
      }
    }
    return new PoolChange(
        avro.getEventId(), avro.getPoolId(), avro.getOccurredAt(), avro.getSource(), updates);
  }

  static io.shardtide.avro.PoolHeader toAvro(StoredPool header) {
    PoolState state = header.state();
    return new io.shardtide.avro.PoolHeader(
        state.id(),
        state.generation(),
        state.pool().map(PoolMapping::toAvro).orElse(null),
        state.claims().values().stream().map(PoolMapping::toAvro).toList(),
        header.allocation().map(AllocationMapping::toAvro).orElse(null),
        header.isDue());
  }

  static StoredPool fromAvro(io.shardtide.avro.PoolHeader avro) {
    SortedMap<String, Claim> claims = new TreeMap<>();
    for (PoolClaim claim : avro.getClaims()) {
      claims.put(claim.getWorkloadId(), fromAvro(claim));
    }
    return new StoredPool(
        new PoolState(
            avro.getPoolId(),
            avro.getGeneration(),
            Optional.ofNullable(avro.getPool()).map(PoolMapping::fromAvro),
            claims),
        Optional.ofNullable(avro.getAllocation()).map(AllocationMapping::fromAvro),
        avro.getIsDue());
  }

  /** Returns a pool as a publisher sets it: with a node at least, and each name once. */
  static Pool setFromAvro(PoolSpec spec) {
    return Pool.of(
        spec.getDevicesPerNode(),
        spec.getMemoryBytesPerDevice(),
        spec.getHostMemoryBytesPerDevice(),
        spec.getHardware(),
        spec.getNodes().stream().map(PoolMapping::fromAvro).toList(),
        LinksMapping.fromAvro(spec.getLinks()));
  }

  static PoolSpec toAvro(Pool pool) {
    return new PoolSpec(
        pool.devicesPerNode(),
        pool.memoryBytesPerDevice(),
        pool.hostMemoryBytesPerDevice(),
        pool.hardware(),
        pool.nodes().values().stream().map(PoolMapping::toAvro).toList(),
        LinksMapping.toAvro(pool.links()));
  }

  /** Returns a pool that may have lost all nodes. */
  private static Pool fromAvro(PoolSpec spec) {
    SortedMap<String, PoolNode> nodes = new TreeMap<>();
    for (io.shardtide.avro.PoolNode node : spec.getNodes()) {
      nodes.put(node.getName(), fromAvro(node));
    }
    return new Pool(
        spec.getDevicesPerNode(),
        spec.getMemoryBytesPerDevice(),
        spec.getHostMemoryBytesPerDevice(),
        spec.getHardware(),
        nodes,
        LinksMapping.fromAvro(spec.getLinks()));
  }

  private static io.shardtide.avro.PoolNode toAvro(PoolNode node) {
    return new io.shardtide.avro.PoolNode(node.name(), node.rack());
  }

  private static PoolNode fromAvro(io.shardtide.avro.PoolNode node) {
    return new PoolNode(node.getName(), node.getRack());
  }

  private static PoolClaim toAvro(Claim claim) {
    return new PoolClaim(
        claim.workloadId(),
        claim.leastDevices(),
        claim.mostDevices(),
        claim.weight(),
        claim.priority());
  }

  private static Claim fromAvro(PoolClaim claim) {
    return new Claim(
        claim.getWorkloadId(),
        claim.getLeastDevices(),
        claim.getMostDevices(),
        claim.getWeight(),
        claim.getPriority());
  }
}
