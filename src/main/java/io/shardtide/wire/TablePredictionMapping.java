package io.shardtide.wire;

import io.shardtide.avro.SplitPredicted;
import io.shardtide.avro.TablePredicted;
import io.shardtide.cost.DatedPrediction;
import io.shardtide.cost.PartTower;
import io.shardtide.cost.TablePart;
import io.shardtide.cost.TablePrediction;
import io.shardtide.domain.ShardScope;
import io.shardtide.domain.TableSpec;
import java.util.ArrayList;
import java.util.List;

final class TablePredictionMapping {
  private TablePredictionMapping() {}

  static TablePredicted toAvro(TablePrediction prediction) {
    return toAvro(prediction, prediction.towers().stream().map(Floats::toList).toList(), true);
  }

  private static TablePredicted toAvro(
      TablePrediction prediction, List<List<Float>> towers, boolean withPartTowers) {
    return new TablePredicted(
        SpecMapping.toAvro(prediction.table()),
        towers,
        prediction.outOfRange().stream().map(SpecMapping::toAvro).toList(),
        prediction.parts().stream()
            .map(
                of ->
                    new SplitPredicted(
                        of.part().scope().fileName(),
                        of.part().columns(),
                        withPartTowers ? Floats.toList(of.tower()) : List.of(),
                        Nullable.of(of.part().cacheShare())))
            .toList());
  }

  static io.shardtide.avro.DatedPrediction toAvro(DatedPrediction dated) {
    TablePrediction prediction = dated.prediction();
    List<float[]> towers = new ArrayList<>(prediction.towers());
    prediction.parts().forEach(of -> towers.add(of.tower()));
    return new io.shardtide.avro.DatedPrediction(
        dated.since(), toAvro(prediction, List.of(), false), Floats.toBytes(towers));
  }

  static DatedPrediction fromAvro(io.shardtide.avro.DatedPrediction avro) {
    TablePredicted predicted = avro.getPrediction();
    if (!avro.getFloats().hasRemaining()) {
      // Written before version 5.
      return new DatedPrediction(fromAvro(predicted), avro.getSince());
    }
    int widths = predicted.getTable().getColumns() / TableSpec.COLUMN_UNIT;
    List<float[]> towers = Floats.ofBytes(avro.getFloats(), widths + predicted.getSplits().size());
    return new DatedPrediction(
        fromAvro(predicted, towers.subList(0, widths), towers.subList(widths, towers.size())),
        avro.getSince());
  }

  static TablePrediction fromAvro(TablePredicted avro) {
    return fromAvro(
        avro,
        avro.getTowers().stream().map(Floats::toArray).toList(),
        avro.getSplits().stream().map(split -> Floats.toArray(split.getTower())).toList());
  }

  private static TablePrediction fromAvro(
      TablePredicted avro, List<float[]> towers, List<float[]> partTowers) {
    List<PartTower> parts = new ArrayList<>();
    for (SplitPredicted split : avro.getSplits()) {
      TablePart part =
          new TablePart(
              scope(split.getScope()),
              split.getColumns(),
              Nullable.optional(split.getCacheShare()));
      parts.add(new PartTower(part, partTowers.get(parts.size())));
    }
    return new TablePrediction(
        SpecMapping.fromAvro(avro.getTable()),
        towers,
        parts,
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
