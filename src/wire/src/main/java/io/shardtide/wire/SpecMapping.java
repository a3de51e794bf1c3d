package io.shardtide.wire;

import io.shardtide.models.AvroMapping;
import io.shardtide.plan.OutOfRange;
import io.shardtide.workload.CacheAlgorithm;
import io.shardtide.workload.ClusterSpec;
import io.shardtide.workload.CommCodec;
import io.shardtide.workload.ComputeKernel;
import io.shardtide.workload.Direction;
import io.shardtide.workload.Eviction;
import io.shardtide.workload.HashedStorage;
import io.shardtide.workload.IdWeights;
import io.shardtide.workload.Named;
import io.shardtide.workload.Optimizer;
import io.shardtide.workload.OutputType;
import io.shardtide.workload.RowOrder;
import io.shardtide.workload.ShardKind;
import io.shardtide.workload.SourcePosition;
import io.shardtide.workload.TableConstraints;
import io.shardtide.workload.TableSpec;
import io.shardtide.workload.TrainingPipeline;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import org.mapstruct.InheritInverseConfiguration;
import org.mapstruct.Mapper;
import org.mapstruct.Mapping;

/** The records that several events share. */
@Mapper(config = AvroMapping.class)
interface SpecMapping {
  @SuppressWarnings("ClassInitializationDeadlock")
  SpecMapping INSTANCE = new SpecMappingImpl();

  @Mapping(target = "reuseHistogram", source = "reuseHistogram.shares")
  @Mapping(target = "accessCdf", source = "accessCdf.shares")
  io.shardtide.avro.TableSpec toAvro(TableSpec table);

  @InheritInverseConfiguration
  @Mapping(target = "withColumns", ignore = true)
  @Mapping(target = "withPoolingFactor", ignore = true)
  @Mapping(target = "withFeatures", ignore = true)
  @Mapping(target = "withConstraints", ignore = true)
  @Mapping(target = "withDefaultOptimizer", ignore = true)
  TableSpec fromAvro(io.shardtide.avro.TableSpec table);

  @Mapping(target = "withKinds", ignore = true)
  @Mapping(target = "withLeastColumns", ignore = true)
  @Mapping(target = "withMayBeCached", ignore = true)
  @Mapping(target = "withMayHaveHotRows", ignore = true)
  TableConstraints fromAvro(io.shardtide.avro.TableConstraints constraints);

  @Mapping(target = "hitShares", source = "hitShares.shares")
  io.shardtide.avro.HashedStorage toAvro(HashedStorage storage);

  @InheritInverseConfiguration
  HashedStorage fromAvro(io.shardtide.avro.HashedStorage storage);

  io.shardtide.avro.ClusterSpec toAvro(ClusterSpec cluster);

  @Mapping(target = "group", ignore = true)
  ClusterSpec fromAvro(io.shardtide.avro.ClusterSpec cluster);

  @Mapping(target = "directions", source = "codec")
  CommCodec fromAvro(io.shardtide.avro.WireCodec codec);

  io.shardtide.avro.OutOfRange toAvro(OutOfRange place);

  OutOfRange fromAvro(io.shardtide.avro.OutOfRange place);

  default Set<ShardKind> kinds(List<String> names) {
    return TableConstraints.kindsOf(names);
  }

  default List<Direction> directions(io.shardtide.avro.WireCodec codec) {
    return CommCodec.directionsOf(codec.getName(), codec.getDirections());
  }

  default Optional<Optimizer> optimizer(String name) {
    return Optional.ofNullable(name).map(Optimizer::of);
  }

  default Optional<IdWeights> idWeights(String name) {
    return Optional.ofNullable(name).map(IdWeights::of);
  }

  default RowOrder rowOrder(String name) {
    return RowOrder.of(name);
  }

  default Optional<RowOrder> optionalRowOrder(String name) {
    return Optional.ofNullable(name).map(RowOrder::of);
  }

  default Eviction eviction(String name) {
    return Eviction.of(name);
  }

  default Optional<ComputeKernel> computeKernel(String name) {
    return Optional.ofNullable(name).map(ComputeKernel::of);
  }

  default Optional<CacheAlgorithm> cacheAlgorithm(String name) {
    return Optional.ofNullable(name).map(CacheAlgorithm::of);
  }

  default Optional<OutputType> outputType(String name) {
    return Optional.ofNullable(name).map(OutputType::of);
  }

  default Optional<TrainingPipeline> pipeline(String name) {
    return Optional.ofNullable(name).map(TrainingPipeline::of);
  }

  default String label(Named named) {
    return named.label();
  }

  default String label(Optional<? extends Named> named) {
    return named.map(Named::label).orElse(null);
  }

  io.shardtide.avro.SourcePosition toAvro(SourcePosition source);

  SourcePosition fromAvro(io.shardtide.avro.SourcePosition avro);
}
