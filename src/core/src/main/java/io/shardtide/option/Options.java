package io.shardtide.option;

import io.shardtide.domain.TableSpec;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * All that a plan may choose among for a table: what is predicted of it.
 *
 * @param cuts the table cut by use, for each number of hot rows
 * @param all the options: without hot rows, and then for each number of them their copies and the
 *     options of all other rows. Each begins with the parts in the memory of one device, the
 *     narrowest first
 */
public record Options(Map<Long, HotColdTable> cuts, List<Option> all) {
  /** Returns the options of a table; without those that its kernel does not compute. */
  public static Options of(TableSpec table, PredictionInputs inputs) {
    Options options = new Options(new LinkedHashMap<>(), new ArrayList<>());
    Freedoms.ALL.forEach(freedom -> freedom.add(options, table, 0, inputs));
    options.all.removeIf(
        option -> !option.part().isOnDevice() && !option.part().isComputedBy(table.kernel()));
    return options;
  }

  void add(long hotRows, TablePart part) {
    all.add(
        hotRows == 0 && part.isOnDevice()
            ? Option.ofColumns(part.columns())
            : new Option(hotRows, part));
  }
}
