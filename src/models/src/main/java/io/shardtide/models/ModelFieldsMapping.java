package io.shardtide.models;

import io.shardtide.avro.CollectiveModel;
import io.shardtide.avro.CostModelBundle;
import io.shardtide.cost.CollectiveNet;
import io.shardtide.cost.InvalidModelException;
import io.shardtide.cost.LaunchCosts;
import io.shardtide.cost.LogCorrection;
import io.shardtide.cost.ModelBundle;
import io.shardtide.cost.ModelOrigin;
import io.shardtide.workload.Collective;
import io.shardtide.workload.Direction;
import io.shardtide.workload.Named;
import io.shardtide.workload.Optimizer;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
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

  @Mapping(target = "corrected", ignore = true)
  CollectiveNet fromAvro(CollectiveModel avro);

  default Collective collective(String name) {
    return Named.parse(
        Collective.class, name, "collective of a model's net", InvalidModelException::new);
  }

  default Optimizer optimizer(String name) {
    return Optimizer.of(name);
  }

  default String label(Named named) {
    return named.label();
  }

  default @Nullable String label(Optional<? extends Named> named) {
    return named.map(Named::label).orElse(null);
  }

  default @Nullable Direction direction(@Nullable String name) {
    return name == null
        ? null
        : Named.parse(
            Direction.class, name, "direction of a model's net", InvalidModelException::new);
  }

  default List<Double> numbers(double[] values) {
    return Arrays.stream(values).boxed().toList();
  }

  default double[] numbers(List<Double> values) {
    return values.stream().mapToDouble(Double::doubleValue).toArray();
  }
}
