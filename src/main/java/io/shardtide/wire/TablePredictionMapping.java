package io.shardtide.wire;

import io.shardtide.avro.SplitPredicted;
import io.shardtide.avro.TablePredicted;
import io.shardtide.cost.DatedPrediction;
import io.shardtide.cost.SplitTower;
import io.shardtide.cost.TablePrediction;
import io.shardtide.domain.ShardScope;

final class TablePredictionMapping {
  private TablePredictionMapping() {}

  static TablePredicted toAvro(TablePrediction prediction) {
    return new TablePredicted(
        SpecMapping.toAvro(prediction.table()),
        prediction.towers().stream().map(Floats::toList).toList(),
        prediction.outOfRange().stream().map(SpecMapping::toAvro).toList(),
        prediction.splits().stream()
            .map(
                split ->
                    new SplitPredicted(
                        split.scope().fileName(), split.columns(), Floats.toList(split.tower())))
            .toList());
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
        avro.getSplits().stream()
            .map(
                split ->
                    new SplitTower(
                        scope(split.getScope()),
                        split.getColumns(),
                        Floats.toArray(split.getTower())))
            .toList(),
        avro.getOutOfRange().stream().map(SpecMapping::fromAvro).toList());
  }

  private static ShardScope scope(String name) {
    return ShardScope.ofFileName(name)
        .orElseThrow(
            () ->
                new IllegalArgumentException(
                    "scope of predictions must be one of %s, got %s"
                        .formatted(ShardScope.fileNames(), name)));
  }
}
