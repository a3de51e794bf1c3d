package io.shardtide.cost;

/**
 * A prediction with the generation of its table's latest change.
 *
 * @param prediction the prediction of a table
 * @param since generation of the workload that added the table or changed it
 */
public record VersionedPrediction(TablePrediction prediction, long since) {}
