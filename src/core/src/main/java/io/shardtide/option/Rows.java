package io.shardtide.option;

import io.shardtide.plan.Region;
import io.shardtide.workload.ShardKind;
import io.shardtide.workload.ShardScope;
import io.shardtide.workload.TableSpec;
import java.util.Arrays;
import java.util.EnumSet;
import java.util.List;
import java.util.Set;

/**
 * Rows are split, if all devices get {@link Region#hasRowsForEach some}:
 *
 * <ul>
 *   <li>over a node: parts of equal width, at most one for each node. Only where there are several
 *       nodes of equally many devices, more than one: in a single node a split over all devices is
 *       the same, and not of unpooled tables, as TorchRec has it;
 *   <li>over all devices: whole tables, as TorchRec has them.
 * </ul>
 */
final class Rows implements Freedom {
  private static final Set<ShardScope> SCOPES = EnumSet.of(ShardScope.NODE, ShardScope.CLUSTER);

  @Override
  public void add(List<TablePart> parts, TableSpec table, PredictionInputs inputs) {
    if (inputs.devices() == 1) {
      parts.addAll(onOneDevice(table, SCOPES));
      return;
    }
    int nodes = inputs.nodes();
    int devices = inputs.devicesPerNode();
    boolean areEqual = nodes > 1 && devices > 1 && inputs.devices() % devices == 0;
    if (table.pooled() && areEqual && Region.hasRowsForEach(table.rows(), devices)) {
      parts.addAll(Columns.equal(table, ShardScope.NODE, nodes));
    }
    if (!inputs.areColumnsOnly() && Region.hasRowsForEach(table.rows(), inputs.devices())) {
      parts.add(new TablePart(ShardScope.CLUSTER, table.columns()));
    }
  }

  /**
   * Returns the parts of a table on the only device of a cluster, where all kinds are one thing: it
   * is one that is split or copied, if it may not be table-wise, or only as another table is.
   */
  static List<TablePart> onOneDevice(TableSpec table, Set<ShardScope> scopes) {
    boolean mayBeWhole =
        table.constraints().allows(ShardKind.TABLE_WISE)
            && table.constraints().sameDevicesAs().isEmpty();
    return Arrays.stream(ShardKind.values())
        .filter(kind -> !mayBeWhole && table.constraints().allows(kind))
        .filter(kind -> table.pooled() || !kind.isPooledOnly())
        .map(ShardKind::scope)
        .filter(scopes::contains)
        .distinct()
        .map(scope -> new TablePart(scope, table.columns()))
        .toList();
  }

  @Override
  public String label(TablePart part) {
    return part.scope() == ShardScope.DEVICE ? "" : "scope " + part.scope().label();
  }
}
