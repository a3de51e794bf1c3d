package io.shardtide.option;

import io.shardtide.domain.ShardScope;
import io.shardtide.domain.TableSpec;
import java.util.List;

/**
 * Each device has a copy of the most used rows, and all others have the options of the freedoms
 * before.
 */
final class HotRowCopies implements Freedom {
  @Override
  public void add(Options options, TableSpec table, long without, PredictionInputs inputs) {
    List<Freedom> before = Freedoms.ALL.subList(0, Freedoms.ALL.indexOf(this));
    for (long hotRows : HotColdTable.levels(table, inputs)) {
      HotColdTable cut = HotColdTable.of(table, hotRows);
      options.cuts().put(hotRows, cut);
      options.add(hotRows, new TablePart(ShardScope.COPIES, table.columns()));
      before.forEach(freedom -> freedom.add(options, cut.others(), hotRows, inputs));
    }
  }

  @Override
  public Option without(Option option) {
    return new Option(0, option.part());
  }

  @Override
  public String label(Option option) {
    return option.hotRows() > 0 ? "%s hot rows".formatted(option.hotRows()) : "";
  }
}
