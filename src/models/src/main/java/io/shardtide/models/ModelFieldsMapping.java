package io.shardtide.models;

import io.shardtide.avro.CollectiveModel;
import io.shardtide.avro.CostModelBundle;
import io.shardtide.cost.CollectiveNet;
import io.shardtide.cost.CollectiveSource;
import io.shardtide.cost.InvalidModelException;
import io.shardtide.cost.LaunchCosts;
import io.shardtide.cost.LogCorrection;
import io.shardtide.cost.ModelBundle;
import io.shardtide.cost.ModelOrigin;
import io.shardtide.domain.Collective;
import io.shardtide.domain.Direction;
import io.shardtide.domain.Optimizer;
import java.util.Arrays;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.mapstruct.Mapper;
import org.mapstruct.Mapping;

/** The fields of {@link ModelBundleMapping}. */
@Mapper(config = AvroMapping.class, uses = Floats.class, imports = ModelBundle.class)
interface ModelFieldsMapping {
  @SuppressWarnings("ClassInitializationDeadlock")
  ModelFieldsMapping INSTANCE = new ModelFieldsMappingImpl();

  @Mapping(target = "formatMajor", expression = "java(ModelBundle.FORMAT_MAJOR)")
  @Mapping(target = "formatMinor", expression = "java(ModelBundle.FORMAT_MINOR)")
  CostModelBundle toAvro(ModelBundle bundle);

  ModelBundle fromAvro(CostModelBundle avro);

  io.shardtide.avro.ModelOrigin toAvro(ModelOrigin origin);

  ModelOrigin fromAvro(io.shardtide.avro.ModelOrigin avro);

  io.shardtide.avro.LogCorrection toAvro(LogCorrection correction);

  LogCorrection fromAvro(io.shardtide.avro.LogCorrection avro);

  io.shardtide.avro.LaunchCosts toAvro(LaunchCosts launches);

  LaunchCosts fromAvro(io.shardtide.avro.LaunchCosts avro);

  io.shardtide.avro.CollectiveSource toAvro(CollectiveSource source);

  CollectiveSource fromAvro(io.shardtide.avro.CollectiveSource avro);

  @Mapping(target = "corrected", ignore = true)
  CollectiveNet fromAvro(CollectiveModel avro);

  default String name(Collective collective) {
    return collective.fileName();
  }

  default Collective collective(String name) {
    return Collective.ofFileName(name)
        .orElseThrow(
            () ->
                new InvalidModelException(
                    "nets of a model must be of %s, got %s"
                        .formatted(Collective.fileNames(), name)));
  }

  default String name(Optimizer optimizer) {
    return optimizer.fileName();
  }

  default Optimizer optimizer(String name) {
    return Optimizer.of(name);
  }

  default @Nullable String name(@Nullable Direction direction) {
    return direction == null ? null : direction.fileName();
  }

  default @Nullable Direction direction(@Nullable String name) {
    if (name == null) {
      return null;
    }
    return Direction.ofFileName(name)
        .orElseThrow(
            () ->
                new InvalidModelException(
                    "direction of a model's net must be forward or backward, got " + name));
  }

  default List<Double> numbers(double[] values) {
    return Arrays.stream(values).boxed().toList();
  }

  default double[] numbers(List<Double> values) {
    return values.stream().mapToDouble(Double::doubleValue).toArray();
  }
}
