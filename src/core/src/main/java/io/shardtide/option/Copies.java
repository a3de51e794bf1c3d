package io.shardtide.option;

import io.shardtide.domain.ShardScope;
import io.shardtide.domain.TableSpec;
import java.util.EnumSet;

/** Each device has a copy of the whole table, as TorchRec has them; not of one with hot rows. */
final class Copies implements Freedom {
  @Override
  public void add(Options options, TableSpec table, long hotRows, PredictionInputs inputs) {
    if (inputs.devices() == 1) {
      Rows.onOneDevice(table, EnumSet.of(ShardScope.COPIES))
          .forEach(part -> options.add(hotRows, part));
    } else if (!inputs.areColumnsOnly() && hotRows == 0) {
      options.add(hotRows, new TablePart(ShardScope.COPIES, table.columns()));
    }
  }

  @Override
  public String label(Option option) {
    return "";
  }
}
