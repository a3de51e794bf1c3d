package io.shardtide.option;

import io.shardtide.workload.ShardScope;
import io.shardtide.workload.TableSpec;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Collectors;

/**
 * All that a plan may choose among for a table: what is predicted of it.
 *
 * @param derived the table cut by use, and with its ids deduplicated
 * @param all the options: of the table, then deduplicated ones, and then for each number of hot
 *     rows their copies and the options of all other rows. Each begins with the parts in the memory
 *     of one device, the narrowest first
 */
public record Options(DerivedTables derived, List<Option> all) {
  /** All freedoms of parts, each after those to whose parts it adds. */
  private static final List<Freedom> FREEDOMS =
      List.of(new Columns(), new Rows(), new Copies(), new Caches(), new RowBlocks());

  /** Returns the options of a table; without those that its kernel does not compute. */
  public static Options of(TableSpec table, PredictionInputs inputs) {
    Map<Long, HotColdTable> cuts = new LinkedHashMap<>();
    List<Option> all = new ArrayList<>();
    for (TablePart part : parts(table, inputs)) {
      all.add(part.isOnDevice() ? Option.ofColumns(part.columns()) : new Option(0, part));
    }
    Optional<TableSpec> deduplicated = DistinctIds.deduplicated(table, inputs);
    deduplicated.ifPresent(
        of ->
            parts(of, inputs).stream()
                .filter(part -> part.scope() != ShardScope.COPIES)
                .forEach(part -> all.add(new Option(0, true, part))));
    for (long hotRows : HotColdTable.levels(table, inputs)) {
      HotColdTable cut = HotColdTable.of(table, hotRows);
      cuts.put(hotRows, cut);
      all.add(new Option(hotRows, new TablePart(ShardScope.COPIES, table.columns())));
      parts(cut.others(), inputs).stream()
          .filter(part -> part.scope() != ShardScope.COPIES)
          .forEach(part -> all.add(new Option(hotRows, part)));
    }
    return new Options(new DerivedTables(cuts, deduplicated), all);
  }

  private static List<TablePart> parts(TableSpec table, PredictionInputs inputs) {
    List<TablePart> parts = new ArrayList<>();
    FREEDOMS.forEach(freedom -> freedom.add(parts, table, inputs));
    parts.removeIf(part -> !part.isOnDevice() && !part.isComputedBy(table.kernel()));
    return parts;
  }

  /** Returns what a part is, for people. */
  static String describe(TablePart part) {
    return FREEDOMS.stream()
        .map(freedom -> freedom.label(part))
        .filter(label -> !label.isEmpty())
        .collect(Collectors.joining(", "));
  }
}
