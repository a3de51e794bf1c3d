package io.shardtide.wire;

import io.shardtide.models.AvroMapping;
import io.shardtide.state.DriftAlarm;
import io.shardtide.state.ModelDecision;
import io.shardtide.state.TrainingState;
import java.time.Instant;
import org.mapstruct.InheritInverseConfiguration;
import org.mapstruct.Mapper;
import org.mapstruct.Mapping;

/** What the learning loop says and keeps: alarms, decisions, the state between retraining jobs. */
@Mapper(config = AvroMapping.class)
interface LearningMapping {
  @SuppressWarnings("ClassInitializationDeadlock")
  LearningMapping INSTANCE = new LearningMappingImpl();

  io.shardtide.avro.DriftAlarm toAvro(DriftAlarm alarm);

  DriftAlarm fromAvro(io.shardtide.avro.DriftAlarm avro);

  io.shardtide.avro.ModelDecision toAvro(ModelDecision decision);

  ModelDecision fromAvro(io.shardtide.avro.ModelDecision avro);

  @Mapping(target = "decidedAt", source = "decidedAtMs")
  io.shardtide.avro.TrainingState toAvro(TrainingState state);

  @InheritInverseConfiguration
  @Mapping(target = "alarmed", ignore = true)
  @Mapping(target = "coldStarted", ignore = true)
  @Mapping(target = "forModel", ignore = true)
  TrainingState fromAvro(io.shardtide.avro.TrainingState avro);

  default Instant instant(long millis) {
    return Instant.ofEpochMilli(millis);
  }

  default long millis(Instant instant) {
    return instant.toEpochMilli();
  }
}
