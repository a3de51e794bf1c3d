package io.shardtide.wire;

import io.shardtide.avro.TablePredicted;
import io.shardtide.cost.DatedPrediction;
import io.shardtide.cost.TablePrediction;

final class TablePredictionMapping {
  private TablePredictionMapping() {}

  static TablePredicted toAvro(TablePrediction prediction) {
    return new TablePredicted(
        SpecMapping.toAvro(prediction.table()),
        prediction.towers().stream().map(Floats::toList).toList(),
        prediction.outOfRange().stream().map(SpecMapping::toAvro).toList());
  }

  static io.shardtide.avro.DatedPrediction toAvro(DatedPrediction dated) {
    return new io.shardtide.avro.DatedPrediction(dated.since(), toAvro(dated.prediction()));
  }

  static DatedPrediction fromAvro(io.shardtide.avro.DatedPrediction avro) {
    return new DatedPrediction(fromAvro(avro.getPrediction()), avro.getSince());
  }

  static TablePrediction fromAvro(TablePredicted avro) {
    return new TablePrediction(
        SpecMapping.fromAvro(avro.getTable()),
        avro.getTowers().stream().map(Floats::toArray).toList(),
        avro.getOutOfRange().stream().map(SpecMapping::fromAvro).toList());
  }
}
