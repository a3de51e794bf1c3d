package io.shardtide.wire;

import io.shardtide.avro.GroupLayout;
import io.shardtide.avro.GroupPredicted;
import io.shardtide.avro.SplitPredicted;
import io.shardtide.avro.TablePredicted;
import io.shardtide.avro.UsePredicted;
import io.shardtide.cost.TablePrediction;
import io.shardtide.cost.VersionedPrediction;
import io.shardtide.models.Floats;
import io.shardtide.models.Nullable;
import io.shardtide.option.DerivedTables;
import io.shardtide.option.HotColdTable;
import io.shardtide.option.Option;
import io.shardtide.option.TablePart;
import io.shardtide.workload.ReplicaGroups;
import io.shardtide.workload.ShardScope;
import io.shardtide.workload.TableSpec;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.Function;
import java.util.function.Predicate;
import java.util.stream.Stream;

final class TablePredictionMapping {
  private TablePredictionMapping() {}

  static TablePredicted toAvro(TablePrediction prediction) {
    return toAvro(prediction, true);
  }

  private static TablePredicted toAvro(TablePrediction prediction, boolean withTowers) {
    TablePredicted avro =
        toAvro(
            prediction.table(),
            prediction,
            option -> option.hotRows() == 0 && !option.deduplicated(),
            withTowers);
    avro.setOutOfRange(prediction.outOfRange().stream().map(SpecMapping.INSTANCE::toAvro).toList());
    List<UsePredicted> byUse = new ArrayList<>();
    prediction
        .derived()
        .byUse()
        .forEach(
            (hotRows, cut) -> {
              Predicate<Option> isOfCut = option -> option.hotRows() == hotRows;
              byUse.add(
                  new UsePredicted(
                      hotRows,
                      toAvro(cut.hot(), prediction, isOfCut.and(Option::isAddition), withTowers),
                      toAvro(
                          cut.others(),
                          prediction,
                          isOfCut.and(option -> !option.isAddition()),
                          withTowers)));
            });
    avro.setByUse(byUse);
    avro.setDeduplicated(
        prediction
            .derived()
            .deduplicated()
            .map(of -> toAvro(of, prediction, Option::deduplicated, withTowers))
            .orElse(null));
    avro.setByGroups(
        prediction.byGroups().entrySet().stream()
            .map(
                of ->
                    new GroupPredicted(
                        of.getKey().count(),
                        GroupLayout.valueOf(of.getKey().layout().name()),
                        toAvro(of.getValue(), withTowers)))
            .toList());
    return avro;
  }

  private static TablePredicted toAvro(
      TableSpec table, TablePrediction prediction, Predicate<Option> isOf, boolean withTowers) {
    List<List<Float>> towers = new ArrayList<>();
    List<SplitPredicted> splits = new ArrayList<>();
    prediction
        .towers()
        .forEach(
            (option, tower) -> {
              TablePart part = option.part();
              List<Float> written = withTowers ? Floats.toList(tower) : List.of();
              if (isOf.test(option) && !part.isOnDevice()) {
                splits.add(
                    new SplitPredicted(
                        part.scope().label(),
                        part.columns(),
                        written,
                        Nullable.of(part.cacheShare()),
                        part.blocks()));
              } else if (isOf.test(option) && withTowers) {
                towers.add(written);
              }
            });
    return new TablePredicted(
        SpecMapping.INSTANCE.toAvro(table), towers, List.of(), splits, List.of(), List.of(), null);
  }

  static io.shardtide.avro.DatedPrediction toAvro(VersionedPrediction dated) {
    List<float[]> towers = new ArrayList<>();
    addTowers(dated.prediction(), towers);
    return new io.shardtide.avro.DatedPrediction(
        dated.since(), toAvro(dated.prediction(), false), Floats.toBytes(towers));
  }

  private static void addTowers(TablePrediction prediction, List<float[]> towers) {
    towers.addAll(prediction.towers().values());
    prediction.byGroups().values().forEach(inGroups -> addTowers(inGroups, towers));
  }

  static VersionedPrediction fromAvro(io.shardtide.avro.DatedPrediction avro) {
    TablePredicted predicted = avro.getPrediction();
    Widths widths =
        of -> Collections.nCopies(of.getTable().getColumns() / TableSpec.COLUMN_UNIT, List.of());
    int count = (int) towers(predicted, widths).count();
    Iterator<float[]> towers = Floats.ofBytes(avro.getFloats(), count).iterator();
    return new VersionedPrediction(fromAvro(predicted, towers, widths), avro.getSince());
  }

  static TablePrediction fromAvro(TablePredicted avro) {
    Widths widths = TablePredicted::getTowers;
    return fromAvro(avro, towers(avro, widths).map(Floats::toArray).iterator(), widths);
  }

  /** Returns the towers of parts in the memory of one device; empty ones if only stored. */
  private interface Widths extends Function<TablePredicted, List<List<Float>>> {}

  /** Returns the towers of all options, in the order in which they are written as floats. */
  private static Stream<List<Float>> towers(TablePredicted avro, Widths widths) {
    return Stream.of(
            widths.apply(avro).stream(),
            splits(avro),
            Stream.ofNullable(avro.getDeduplicated()).flatMap(of -> towers(of, widths)),
            avro.getByUse().stream()
                .flatMap(
                    use -> Stream.concat(splits(use.getHot()), towers(use.getOthers(), widths))),
            avro.getByGroups().stream().flatMap(of -> towers(of.getPrediction(), widths)))
        .flatMap(Function.identity());
  }

  private static Stream<List<Float>> splits(TablePredicted avro) {
    return avro.getSplits().stream().map(SplitPredicted::getTower);
  }

  /**
   * Returns predictions.
   *
   * @param towers of all options, in the order of {@link #towers}
   */
  private static TablePrediction fromAvro(
      TablePredicted avro, Iterator<float[]> towers, Widths widths) {
    Map<Option, float[]> byOption = new LinkedHashMap<>();
    Map<Long, HotColdTable> cuts = new LinkedHashMap<>();
    Map<ReplicaGroups, TablePrediction> byGroups = new LinkedHashMap<>();
    add(byOption, part -> new Option(0, part), avro, towers, widths.apply(avro).size());
    TablePredicted ofIds = avro.getDeduplicated();
    if (ofIds != null) {
      int count = widths.apply(ofIds).size();
      add(byOption, part -> new Option(0, true, part), ofIds, towers, count);
    }
    for (UsePredicted use : avro.getByUse()) {
      Function<TablePart, Option> ofRows = part -> new Option(use.getHotRows(), part);
      add(byOption, ofRows, use.getHot(), towers, 0);
      float[] copies = byOption.get(copies(use));
      int others = widths.apply(use.getOthers()).size();
      add(byOption, ofRows, use.getOthers(), towers, others);
      // Until 0.2.0, copies of the other rows were predicted, which no plan may have.
      byOption.put(copies(use), copies);
      cuts.put(
          use.getHotRows(),
          new HotColdTable(
              SpecMapping.INSTANCE.fromAvro(use.getHot().getTable()),
              SpecMapping.INSTANCE.fromAvro(use.getOthers().getTable())));
    }
    for (GroupPredicted of : avro.getByGroups()) {
      ReplicaGroups groups =
          new ReplicaGroups(
              of.getGroups(), io.shardtide.workload.GroupLayout.valueOf(of.getLayout().name()));
      byGroups.put(groups, fromAvro(of.getPrediction(), towers, widths));
    }
    return new TablePrediction(
        SpecMapping.INSTANCE.fromAvro(avro.getTable()),
        byOption,
        new DerivedTables(
            cuts,
            Optional.ofNullable(ofIds).map(of -> SpecMapping.INSTANCE.fromAvro(of.getTable()))),
        byGroups,
        avro.getOutOfRange().stream().map(SpecMapping.INSTANCE::fromAvro).toList());
  }

  private static Option copies(UsePredicted use) {
    return new Option(
        use.getHotRows(), new TablePart(ShardScope.COPIES, use.getHot().getTable().getColumns()));
  }

  private static void add(
      Map<Option, float[]> byOption,
      Function<TablePart, Option> optionOf,
      TablePredicted avro,
      Iterator<float[]> towers,
      int widths) {
    for (int units = 1; units <= widths; units++) {
      TablePart part = Option.ofColumns(units * TableSpec.COLUMN_UNIT).part();
      byOption.put(optionOf.apply(part), towers.next());
    }
    for (SplitPredicted split : avro.getSplits()) {
      TablePart part =
          new TablePart(
              PlanMapping.INSTANCE.scope(split.getScope()),
              split.getColumns(),
              split.getBlocks(),
              Nullable.optional(split.getCacheShare()));
      byOption.put(optionOf.apply(part), towers.next());
    }
  }
}
