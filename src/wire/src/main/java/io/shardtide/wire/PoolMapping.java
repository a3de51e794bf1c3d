package io.shardtide.wire;

import io.shardtide.avro.ClaimSet;
import io.shardtide.avro.ClaimWithdrawn;
import io.shardtide.avro.CurveReference;
import io.shardtide.avro.PoolClaim;
import io.shardtide.avro.PoolNodeAdded;
import io.shardtide.avro.PoolNodeLost;
import io.shardtide.avro.PoolSet;
import io.shardtide.avro.PoolSpec;
import io.shardtide.models.AvroMapping;
import io.shardtide.pool.Allocation;
import io.shardtide.pool.Claim;
import io.shardtide.pool.CurveReport;
import io.shardtide.pool.CurveRequest;
import io.shardtide.pool.CurveState;
import io.shardtide.pool.Pool;
import io.shardtide.pool.PoolChange;
import io.shardtide.pool.PoolMember;
import io.shardtide.pool.PoolNode;
import io.shardtide.pool.PoolState;
import io.shardtide.pool.PoolUpdate;
import io.shardtide.pool.RingPrediction;
import io.shardtide.pool.StoredPool;
import io.shardtide.pool.ThroughputCurve;
import java.util.List;
import java.util.Optional;
import java.util.SortedMap;
import java.util.TreeMap;
import org.mapstruct.InheritInverseConfiguration;
import org.mapstruct.Mapper;
import org.mapstruct.Mapping;
import org.mapstruct.Named;
import org.mapstruct.SubclassMapping;

/** Pools, claims, allocations and throughput curves, and what is kept of them. */
@Mapper(
    config = AvroMapping.class,
    uses = {SpecMapping.class, LinksMapping.class})
interface PoolMapping {
  @SuppressWarnings("ClassInitializationDeadlock")
  PoolMapping INSTANCE = new PoolMappingImpl();

  @Mapping(target = "changes", source = "updates")
  io.shardtide.avro.PoolChange toAvro(PoolChange event);

  @Mapping(target = "updates", source = "changes")
  PoolChange fromAvro(io.shardtide.avro.PoolChange avro);

  @SubclassMapping(source = PoolUpdate.PoolSet.class, target = PoolSet.class)
  @SubclassMapping(source = PoolUpdate.PoolNodeAdded.class, target = PoolNodeAdded.class)
  @SubclassMapping(source = PoolUpdate.PoolNodeLost.class, target = PoolNodeLost.class)
  @SubclassMapping(source = PoolUpdate.ClaimSet.class, target = ClaimSet.class)
  @SubclassMapping(source = PoolUpdate.ClaimWithdrawn.class, target = ClaimWithdrawn.class)
  Object change(PoolUpdate update);

  @InheritInverseConfiguration
  PoolUpdate update(Object change);

  @Mapping(target = "pool", qualifiedByName = "set")
  PoolUpdate.PoolSet update(PoolSet change);

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

  @Mapping(target = "curves", source = "curveIds")
  io.shardtide.avro.Allocation toAvro(Allocation allocation);

  @InheritInverseConfiguration
  Allocation fromAvro(io.shardtide.avro.Allocation avro);

  default List<CurveReference> curves(SortedMap<String, String> ids) {
    return ids.entrySet().stream()
        .map(curve -> new CurveReference(curve.getKey(), curve.getValue()))
        .toList();
  }

  default SortedMap<String, String> curveIds(List<CurveReference> curves) {
    SortedMap<String, String> ids = new TreeMap<>();
    curves.forEach(curve -> ids.put(curve.getWorkloadId(), curve.getCurveId()));
    return ids;
  }

  @Mapping(target = ".", source = "type")
  io.shardtide.avro.CurveRequest toAvro(CurveRequest request);

  @Mapping(target = "type", source = "avro")
  CurveRequest fromAvro(io.shardtide.avro.CurveRequest avro);

  @Mapping(target = "nodes", expression = "java(new java.util.TreeMap<>())")
  @Mapping(target = "links", expression = "java(java.util.Optional.empty())")
  @Mapping(target = "withLinks", ignore = true)
  Pool type(io.shardtide.avro.CurveRequest avro);

  @Mapping(target = "predicted", source = "curve")
  io.shardtide.avro.CurveReport toAvro(CurveReport report);

  @Mapping(target = "curve", source = "avro")
  CurveReport fromAvro(io.shardtide.avro.CurveReport avro);

  default Optional<ThroughputCurve> curve(io.shardtide.avro.CurveReport avro) {
    return Optional.ofNullable(avro.getPredicted())
        .map(predicted -> curve(predicted, avro.getWorkloadId()));
  }

  ThroughputCurve curve(io.shardtide.avro.PredictedCurve predicted, String workloadId);

  io.shardtide.avro.PoolMember toAvro(PoolMember member);

  @Mapping(target = "request", source = "request")
  @Mapping(target = "report", source = "report")
  @Mapping(target = "sent", source = "sent")
  @Mapping(target = "with", ignore = true)
  PoolMember fromAvro(io.shardtide.avro.PoolMember avro);

  io.shardtide.avro.CurveHeader toAvro(CurveState header);

  @Mapping(target = "with", ignore = true)
  CurveState fromAvro(io.shardtide.avro.CurveHeader avro);

  io.shardtide.avro.RingPrediction toAvro(RingPrediction ring);

  RingPrediction fromAvro(io.shardtide.avro.RingPrediction avro);

  io.shardtide.avro.PredictedCurve toAvro(ThroughputCurve curve);
}
