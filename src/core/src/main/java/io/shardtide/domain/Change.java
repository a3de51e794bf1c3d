package io.shardtide.domain;

import java.util.Objects;

/** One change to a workload. */
public sealed interface Change {

  /**
   * A table is added, or gets new values.
   *
   * @param table the table as it is from now on
   */
  record TableUpserted(TableSpec table) implements Change {
    /** Checks that there is a table. */
    public TableUpserted {
      Objects.requireNonNull(table, "table");
    }
  }

  /**
   * A table is dropped.
   *
   * @param name name of a table of the workload
   */
  record TableDropped(String name) implements Change {
    /** Checks that there is a name. */
    public TableDropped {
      Objects.requireNonNull(name, "name");
    }
  }

  /**
   * The capacity of a hashed table is set, and nothing else: what its publisher changed meanwhile
   * stays.
   *
   * @param name name of a hashed table of the workload
   * @param rows slots that it has from now on, 1 to {@value TableSpec#MAX_ROWS}
   * @param reason why, for people; at most {@value HashedStorage#MAX_REASON} characters, may be
   *     empty
   */
  record TableResized(String name, long rows, String reason) implements Change {
    /**
     * Checks the number of rows and the reason.
     *
     * @throws RejectedException if one is outside its range
     */
    public TableResized {
      Objects.requireNonNull(name, "name");
      TableSpec.checkRows(rows, name);
      HashedStorage.checkReason(reason);
    }
  }

  /**
   * The cluster is set or changed.
   *
   * @param cluster the cluster as it is from now on
   */
  record ClusterSet(ClusterSpec cluster) implements Change {
    /** Checks that there is a cluster. */
    public ClusterSet {
      Objects.requireNonNull(cluster, "cluster");
    }
  }

  /**
   * The workload is deleted: its tables, its cluster and its plans. The only change of its event. A
   * later event creates the workload again; its generations go on.
   *
   * @param reason why, for people; may be empty
   */
  record WorkloadDeleted(String reason) implements Change {
    /** Checks that there is a reason. */
    public WorkloadDeleted {
      Objects.requireNonNull(reason, "reason");
    }
  }
}
