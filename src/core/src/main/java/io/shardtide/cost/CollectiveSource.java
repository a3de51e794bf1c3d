package io.shardtide.cost;

/** Where the costs of a collective come from. */
public enum CollectiveSource {
  /** Samples that were measured, or simulated. */
  MEASURED,
  /** A formula over figures of a data sheet: {@link LinkDataSheet}. */
  DATA_SHEET
}
