package io.shardtide.wire;

import io.shardtide.avro.ClaimSet;
import io.shardtide.avro.ClaimWithdrawn;
import io.shardtide.avro.PoolClaim;
import io.shardtide.avro.PoolNodeAdded;
import io.shardtide.avro.PoolNodeLost;
import io.shardtide.avro.PoolSet;
import io.shardtide.avro.PoolSpec;
import io.shardtide.models.AvroMapping;
import io.shardtide.pool.Claim;
import io.shardtide.pool.Pool;
import io.shardtide.pool.PoolChange;
import io.shardtide.pool.PoolNode;
import io.shardtide.pool.PoolState;
import io.shardtide.pool.PoolUpdate;
import io.shardtide.pool.StoredPool;
import java.util.ArrayList;
import java.util.List;
import java.util.SortedMap;
import java.util.TreeMap;
import org.mapstruct.Mapper;
import org.mapstruct.Mapping;
import org.mapstruct.Named;

/** Pools and the claims on them. */
@Mapper(
    config = AvroMapping.class,
    uses = {AllocationMapping.class, LinksMapping.class})
interface PoolMapping {
  @SuppressWarnings("ClassInitializationDeadlock")
  PoolMapping INSTANCE = new PoolMappingImpl();

  @Mapping(target = "changes", source = "updates")
  io.shardtide.avro.PoolChange toAvro(PoolChange event);

  @Mapping(target = "updates", source = "changes")
  PoolChange fromAvro(io.shardtide.avro.PoolChange avro);

  default List<Object> changes(List<PoolUpdate> updates) {
    List<Object> changes = new ArrayList<>();
    for (PoolUpdate update : updates) {
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
    return changes;
  }

  default List<PoolUpdate> updates(List<Object> changes) {
    List<PoolUpdate> updates = new ArrayList<>();
    for (Object change : changes) {
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
    return updates;
  }

  @Mapping(target = ".", source = "state")
  @Mapping(target = "poolId", source = "state.id")
  io.shardtide.avro.PoolHeader toAvro(StoredPool header);

  @Mapping(target = "state", source = "avro")
  @Mapping(target = "with", ignore = true)
  StoredPool fromAvro(io.shardtide.avro.PoolHeader avro);

  @Mapping(target = "id", source = "poolId")
  @Mapping(target = "claims", source = "claims")
  @Mapping(target = "apply", ignore = true)
  PoolState state(io.shardtide.avro.PoolHeader avro);

  /** Returns a pool as a publisher sets it: with a node at least, and each name once. */
  @Named("set")
  default Pool setFromAvro(PoolSpec spec) {
    Pool pool =
        Pool.of(
            spec.getDevicesPerNode(),
            spec.getMemoryBytesPerDevice(),
            spec.getHostMemoryBytesPerDevice(),
            spec.getHardware(),
            spec.getNodes().stream().map(this::fromAvro).toList());
    return LinksMapping.fromAvro(spec.getLinks()).map(pool::withLinks).orElse(pool);
  }

  PoolSpec toAvro(Pool pool);

  /** Returns a pool that may have lost all nodes. */
  @Mapping(target = "withLinks", ignore = true)
  Pool fromAvro(PoolSpec spec);

  io.shardtide.avro.PoolNode toAvro(PoolNode node);

  PoolNode fromAvro(io.shardtide.avro.PoolNode node);

  PoolClaim toAvro(Claim claim);

  Claim fromAvro(PoolClaim claim);

  default List<io.shardtide.avro.PoolNode> nodes(SortedMap<String, PoolNode> nodes) {
    return nodes.values().stream().map(this::toAvro).toList();
  }

  default SortedMap<String, PoolNode> nodes(List<io.shardtide.avro.PoolNode> avro) {
    SortedMap<String, PoolNode> nodes = new TreeMap<>();
    avro.forEach(node -> nodes.put(node.getName(), fromAvro(node)));
    return nodes;
  }

  default List<PoolClaim> claims(SortedMap<String, Claim> claims) {
    return claims.values().stream().map(this::toAvro).toList();
  }

  default SortedMap<String, Claim> claims(List<PoolClaim> avro) {
    SortedMap<String, Claim> claims = new TreeMap<>();
    avro.forEach(claim -> claims.put(claim.getWorkloadId(), fromAvro(claim)));
    return claims;
  }
}
