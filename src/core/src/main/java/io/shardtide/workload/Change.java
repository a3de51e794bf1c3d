package io.shardtide.workload;

/** One change to a workload. */
public sealed interface Change {

  /** One change to a table. */
  sealed interface OfTable extends Change {
    /** Returns the name of the table. */
    String name();
  }

  /**
   * A table is added, or gets new values.
   *
   * @param table the table as it is from now on
   */
  record TableUpserted(TableSpec table) implements OfTable {
    @Override
    public String name() {
      return table.name();
    }
  }

  /**
   * A table is dropped.
   *
   * @param name name of a table of the workload
   */
  record TableDropped(String name) implements OfTable {}

  /**
   * The capacity of a hashed table is set, and nothing else: what its publisher changed meanwhile
   * stays.
   *
   * @param name name of a hashed table of the workload
   * @param rows slots that it has from now on, 1 to {@value TableSpec#MAX_ROWS}
   * @param reason why, for people; at most {@value HashedStorage#MAX_REASON} characters, may be
   *     empty
   */
  record TableResized(String name, long rows, String reason) implements OfTable {
    /**
     * Checks the number of rows and the reason.
     *
     * @throws RejectedException if one is outside its range
     */
    public TableResized {
      TableSpec.checkRows(rows, name);
      HashedStorage.checkReason(reason);
    }
  }

  /**
   * The cluster is set or changed.
   *
   * @param cluster the cluster as it is from now on
   */
  record ClusterSet(ClusterSpec cluster) implements Change {}

  /**
   * The workload is deleted: its tables, its cluster and its plans. The only change of its event. A
   * later event creates the workload again; its generations go on.
   *
   * @param reason why, for people; may be empty
   */
  record WorkloadDeleted(String reason) implements Change {}
}
