package io.shardtide.models;

import org.mapstruct.Builder;
import org.mapstruct.MapperConfig;
import org.mapstruct.ReportingPolicy;
import org.mapstruct.SubclassExhaustiveStrategy;
import org.mapstruct.control.MappingControl;

/**
 * How all mappings between values and Avro records are generated. A field that has no source fails
 * the compilation, in both directions.
 *
 * <p>Values are made by their constructors, Avro records by their setters. MapStruct also takes a
 * method like {@code withColumns} of a value for a field (mapstruct#3886), which its mapping has to
 * ignore.
 *
 * <p>Each mapping has a constant {@code INSTANCE}, which other mappings use. Without it, they would
 * ask MapStruct at run time, which is not there. Nothing else names the generated class, so that
 * the two cannot wait for each other's initialization.
 */
@MapperConfig(
    uses = Nullable.class,
    unmappedTargetPolicy = ReportingPolicy.ERROR,
    subclassExhaustiveStrategy = SubclassExhaustiveStrategy.RUNTIME_EXCEPTION,
    builder = @Builder(disableBuilder = true),
    mappingControl = AvroMapping.NoConversions.class)
public interface AvroMapping {

  /** None of MapStruct's own conversions, for example between strings, numbers and enums. */
  @MappingControl(MappingControl.Use.DIRECT)
  @MappingControl(MappingControl.Use.MAPPING_METHOD)
  @MappingControl(MappingControl.Use.COMPLEX_MAPPING)
  @interface NoConversions {}
}
