package io.shardtide.plan;

import io.shardtide.workload.TableKernel;
import io.shardtide.workload.TableSpec;
import java.util.Collection;
import java.util.Comparator;
import java.util.List;

/**
 * How a planned table's lookups are computed, as its publisher decided; a plan lists the tables of
 * which something is decided.
 *
 * @param table name of the table
 * @param kernel what the publisher decided
 * @param enforceHbm {@link TableSpec#enforceHbm}
 */
public record PlannedKernel(String table, TableKernel kernel, boolean enforceHbm) {
  /** The order in a plan: by table. */
  public static final Comparator<PlannedKernel> ORDER = Comparator.comparing(PlannedKernel::table);

  /** Returns those of tables, in {@link #ORDER}. */
  public static List<PlannedKernel> of(Collection<TableSpec> tables) {
    return tables.stream()
        .filter(table -> !table.kernel().isEmpty() || table.enforceHbm())
        .map(table -> new PlannedKernel(table.name(), table.kernel(), table.enforceHbm()))
        .sorted(ORDER)
        .toList();
  }
}
