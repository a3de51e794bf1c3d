package io.shardtide.option;

import io.shardtide.workload.ShardScope;
import io.shardtide.workload.TableSpec;
import java.util.EnumSet;
import java.util.List;

/** Each device has a copy of the whole table, as TorchRec has them. */
final class Copies implements Freedom {
  @Override
  public void add(List<TablePart> parts, TableSpec table, PredictionInputs inputs) {
    if (inputs.devices() == 1) {
      parts.addAll(Rows.onOneDevice(table, EnumSet.of(ShardScope.COPIES)));
    } else if (!inputs.areColumnsOnly()) {
      parts.add(new TablePart(ShardScope.COPIES, table.columns()));
    }
  }
}
