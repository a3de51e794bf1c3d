package io.shardtide.workload;

/**
 * Why an event was not applied. The names are codes that publishers rely on: they are never
 * renamed.
 */
public enum RejectionReason {
  /** The bytes are not a record that this version can read. */
  UNDECODABLE,
  /** The bytes name a schema that the registry does not have. */
  UNKNOWN_SCHEMA,
  /** The workload id is empty, too long, or holds control characters. */
  INVALID_WORKLOAD_ID,
  /**
   * The record's key is not the workload id, or the hardware where that is the key, so that its
   * order among records of that key is undefined.
   */
  KEY_MISMATCH,
  /**
   * The record is not on the partition that Kafka's Java clients choose for its key, so that it is
   * in no order with the key's other records.
   */
  WRONG_PARTITION,
  /** An event without changes. */
  NO_CHANGES,
  /**
   * An event with more changes than one event may hold; one, for a deletion; one of each table, and
   * of the cluster.
   */
  TOO_MANY_CHANGES,
  /** An event that adds tables to a workload that would have more than one may have. */
  TOO_MANY_TABLES,
  /** A table name that is empty, too long, or holds control characters. */
  INVALID_TABLE_NAME,
  /** A number of rows outside the range. */
  INVALID_ROWS,
  /** A number of columns that is no multiple of 4 in the range. */
  INVALID_COLUMNS,
  /** A pooling factor outside the range. */
  INVALID_POOLING_FACTOR,
  /** A reuse histogram that is not 17 shares. */
  INVALID_REUSE_HISTOGRAM,
  /**
   * An access CDF that falls, does not end at 1, or does not have as many entries as the table's
   * rows need.
   */
  INVALID_ACCESS_CDF,
  /**
   * Distinct shares of a table that are out of range, not in the order of their samples, or fewer
   * or more ids than its rows and lookups allow; deduplication of a pooled table.
   */
  INVALID_DISTINCT_SHARE,
  /** Spreads of a table's lookups over blocks of rows that do not sum to 1, or two of one order. */
  INVALID_ROW_SPREAD,
  /** Bytes per element, of weights or of the optimizer, outside the range. */
  INVALID_BYTES_PER_ELEMENT,
  /** An optimizer that is not known. */
  INVALID_OPTIMIZER,
  /**
   * Features of a table with a value outside its range, two of one name, or with other lookups than
   * the table; weights of ids that are not known.
   */
  INVALID_FEATURES,
  /**
   * A hashed table, or the reason of its resize, with a value outside its range; the resize of a
   * table that is not hashed.
   */
  INVALID_STORAGE,
  /**
   * Constraints of a table that are out of range, contradict each other, or have no kind in common
   * with those of the table that shares its devices.
   */
  INVALID_CONSTRAINTS,
  /** A cluster with a value outside its range. */
  INVALID_CLUSTER,
  /** Hardware without a cost model. */
  UNKNOWN_HARDWARE,
  /** The deletion, or speeds of devices, of a workload that does not exist. */
  UNKNOWN_WORKLOAD,
  /** A table that the workload does not have. */
  UNKNOWN_TABLE,
  /** An event that was applied before. */
  DUPLICATE_EVENT,
  /** The workload has another generation than the publisher expected. */
  STALE_GENERATION,
  /** A status with a value outside its range. */
  INVALID_STATUS,
  /** A status of a plan that the planner does not store. */
  UNKNOWN_PLAN,
  /** A status of a step before the one that was reported last. */
  STALE_STATUS,
  /** A measurement with a value outside its range. */
  INVALID_MEASUREMENT,
  /** A measurement that cannot be compared: of other devices or collectives, or implausible. */
  INCOMPARABLE_MEASUREMENT,
  /**
   * A measurement of a plan that was replaced, or of tables, a batch size or hardware that have
   * changed since its plan, as happens whenever a workload changes while it trains.
   */
  OUTDATED_MEASUREMENT,
  /** A measurement that was reported before. */
  DUPLICATE_MEASUREMENT,
  /** A measurement of steps before those reported last. */
  STALE_MEASUREMENT,
  /** Speeds of devices with a value outside its range, or of a device that there is not. */
  INVALID_SPEEDS,
  /** A pool with a value outside its range. */
  INVALID_POOL,
  /** A claim with a value outside its range. */
  INVALID_CLAIM,
  /** A pool that no event has set. */
  UNKNOWN_POOL,
  /** A node that the pool does not have. */
  UNKNOWN_NODE,
  /** A node that is added twice. */
  DUPLICATE_NODE,
  /** A workload that has no claim on the pool. */
  UNKNOWN_CLAIM,
  /** An internal error while a change was planned; the change itself is applied. */
  PLANNING_FAILED,
  /** A change whose predictions are larger than a record may be. */
  RECORD_TOO_LARGE,
  /**
   * A record of a key in quarantine: beyond those that are held, or one that still failed when its
   * workload was deleted.
   */
  QUARANTINED;

  /** Returns an exception for this reason: what is wrong, the value, and what is expected. */
  public RejectedException failure(String message) {
    return new RejectedException(this, message);
  }
}
