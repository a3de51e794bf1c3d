package io.shardtide.wire;

import io.shardtide.avro.GroupLayout;
import io.shardtide.avro.GroupPredicted;
import io.shardtide.avro.SplitPredicted;
import io.shardtide.avro.TablePredicted;
import io.shardtide.avro.UsePredicted;
import io.shardtide.cost.GroupPrediction;
import io.shardtide.cost.HotColdPrediction;
import io.shardtide.cost.PartTower;
import io.shardtide.cost.TablePart;
import io.shardtide.cost.TablePrediction;
import io.shardtide.cost.VersionedPrediction;
import io.shardtide.domain.Named;
import io.shardtide.domain.ReplicaGroups;
import io.shardtide.domain.ShardScope;
import io.shardtide.domain.TableSpec;
import io.shardtide.models.Floats;
import io.shardtide.models.Nullable;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.stream.Stream;

final class TablePredictionMapping {
  private TablePredictionMapping() {}

  static TablePredicted toAvro(TablePrediction prediction) {
    return toAvro(prediction, true);
  }

  private static TablePredicted toAvro(TablePrediction prediction, boolean withTowers) {
    return new TablePredicted(
        SpecMapping.INSTANCE.toAvro(prediction.table()),
        withTowers ? prediction.towers().stream().map(Floats::toList).toList() : List.of(),
        prediction.outOfRange().stream().map(SpecMapping.INSTANCE::toAvro).toList(),
        prediction.parts().stream()
            .map(
                of ->
                    new SplitPredicted(
                        of.part().scope().label(),
                        of.part().columns(),
                        withTowers ? Floats.toList(of.tower()) : List.of(),
                        Nullable.of(of.part().cacheShare()),
                        of.part().blocks()))
            .toList(),
        prediction.byUse().stream()
            .map(
                use ->
                    new UsePredicted(
                        use.hotRows(),
                        toAvro(use.hot(), withTowers),
                        toAvro(use.others(), withTowers)))
            .toList(),
        prediction.byGroups().stream()
            .map(
                of ->
                    new GroupPredicted(
                        of.groups().count(),
                        GroupLayout.valueOf(of.groups().layout().name()),
                        toAvro(of.prediction(), withTowers)))
            .toList());
  }

  static io.shardtide.avro.DatedPrediction toAvro(VersionedPrediction dated) {
    List<float[]> towers = new ArrayList<>();
    addTowers(dated.prediction(), towers);
    return new io.shardtide.avro.DatedPrediction(
        dated.since(), toAvro(dated.prediction(), false), Floats.toBytes(towers));
  }

  private static void addTowers(TablePrediction prediction, List<float[]> towers) {
    towers.addAll(prediction.towers());
    prediction.parts().forEach(of -> towers.add(of.tower()));
    for (HotColdPrediction use : prediction.byUse()) {
      addTowers(use.hot(), towers);
      addTowers(use.others(), towers);
    }
    prediction.byGroups().forEach(of -> addTowers(of.prediction(), towers));
  }

  static VersionedPrediction fromAvro(io.shardtide.avro.DatedPrediction avro) {
    TablePredicted predicted = avro.getPrediction();
    if (!avro.getFloats().hasRemaining()) {
      // Written before version 5.
      return new VersionedPrediction(fromAvro(predicted), avro.getSince());
    }
    int widths = widths(predicted);
    Iterator<float[]> towers =
        Floats.ofBytes(avro.getFloats(), towers(predicted, widths)).iterator();
    return new VersionedPrediction(ofTowers(predicted, towers, widths), avro.getSince());
  }

  private static int widths(TablePredicted predicted) {
    return predicted.getTable().getColumns() / TableSpec.COLUMN_UNIT;
  }

  private static int towers(TablePredicted avro, int widths) {
    int towers = widths + avro.getSplits().size();
    for (UsePredicted use : avro.getByUse()) {
      towers += towers(use.getHot(), 0) + towers(use.getOthers(), widths);
    }
    for (GroupPredicted of : avro.getByGroups()) {
      towers += towers(of.getPrediction(), widths);
    }
    return towers;
  }

  /** Returns predictions whose towers are elsewhere, in the order of {@link #addTowers}. */
  private static TablePrediction ofTowers(
      TablePredicted avro, Iterator<float[]> towers, int widths) {
    List<float[]> ofWidths = next(towers, widths);
    List<float[]> ofParts = next(towers, avro.getSplits().size());
    List<HotColdPrediction> byUse = new ArrayList<>();
    for (UsePredicted use : avro.getByUse()) {
      TablePrediction hot = ofTowers(use.getHot(), towers, 0);
      byUse.add(
          new HotColdPrediction(use.getHotRows(), hot, ofTowers(use.getOthers(), towers, widths)));
    }
    List<GroupPrediction> byGroups = new ArrayList<>();
    for (GroupPredicted of : avro.getByGroups()) {
      byGroups.add(new GroupPrediction(groups(of), ofTowers(of.getPrediction(), towers, widths)));
    }
    return fromAvro(avro, ofWidths, ofParts, byUse, byGroups);
  }

  private static List<float[]> next(Iterator<float[]> towers, int count) {
    return Stream.generate(towers::next).limit(count).toList();
  }

  static TablePrediction fromAvro(TablePredicted avro) {
    return fromAvro(
        avro,
        avro.getTowers().stream().map(Floats::toArray).toList(),
        avro.getSplits().stream().map(split -> Floats.toArray(split.getTower())).toList(),
        avro.getByUse().stream()
            .map(
                use ->
                    new HotColdPrediction(
                        use.getHotRows(), fromAvro(use.getHot()), fromAvro(use.getOthers())))
            .toList(),
        avro.getByGroups().stream()
            .map(of -> new GroupPrediction(groups(of), fromAvro(of.getPrediction())))
            .toList());
  }

  private static ReplicaGroups groups(GroupPredicted of) {
    return new ReplicaGroups(
        of.getGroups(), io.shardtide.domain.GroupLayout.valueOf(of.getLayout().name()));
  }

  private static TablePrediction fromAvro(
      TablePredicted avro,
      List<float[]> towers,
      List<float[]> partTowers,
      List<HotColdPrediction> byUse,
      List<GroupPrediction> byGroups) {
    List<PartTower> parts = new ArrayList<>();
    for (SplitPredicted split : avro.getSplits()) {
      TablePart part =
          new TablePart(
              scope(split.getScope()),
              split.getColumns(),
              split.getBlocks(),
              Nullable.optional(split.getCacheShare()));
      parts.add(new PartTower(part, partTowers.get(parts.size())));
    }
    return new TablePrediction(
        SpecMapping.INSTANCE.fromAvro(avro.getTable()),
        towers,
        parts,
        byUse,
        byGroups,
        avro.getOutOfRange().stream().map(SpecMapping.INSTANCE::fromAvro).toList());
  }

  private static ShardScope scope(String name) {
    return Named.parse(
        ShardScope.class, name, "scope of predictions", IllegalArgumentException::new);
  }
}
