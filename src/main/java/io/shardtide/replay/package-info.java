/**
 * Recomputes the plans that are recorded on the log, compares them with the records, and explains
 * how a plan came about.
 *
 * <p>Input: {@link io.shardtide.replay.LogRecords}, from an export or a cluster. Output: recomputed
 * plans, and how they compare with the recorded ones. Runs the steps of {@code planning}; uses no
 * clock, no Kafka and no TensorFlow (the caller supplies predictors where tables must be
 * predicted). Imports {@code planning}, {@code wire}, {@code cost} and {@code domain}.
 */
package io.shardtide.replay;
