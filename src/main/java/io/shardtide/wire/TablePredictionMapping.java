package io.shardtide.wire;

import io.shardtide.avro.TablePredicted;
import io.shardtide.cost.TablePrediction;

final class TablePredictionMapping {
  private TablePredictionMapping() {}

  static TablePredicted toAvro(TablePrediction prediction) {
    return new TablePredicted(
        SpecMapping.toAvro(prediction.table()),
        prediction.towers().stream().map(Floats::toList).toList());
  }

  static TablePrediction fromAvro(TablePredicted avro) {
    return new TablePrediction(
        SpecMapping.fromAvro(avro.getTable()),
        avro.getTowers().stream().map(Floats::toArray).toList());
  }
}
