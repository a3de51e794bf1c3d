package io.shardtide.plan;

import io.shardtide.workload.Named;
import io.shardtide.workload.TableSpec;

/** How a table may be cut into column parts in a recorded plan; a search has only equal parts. */
public enum ColumnCuts implements Named {
  /**
   * Into parts of equal width, on different devices. TorchRec can load checkpoints of such tables
   * only, and reshard no others.
   */
  EQUAL,
  /**
   * Into any parts of a multiple of {@link TableSpec#COLUMN_UNIT} columns, on any devices. Plans
   * until 0.2.0 may have this.
   */
  ANY
}
