/**
 * Recomputes the plans and the allocations that are recorded on the log, compares them with the
 * records, and explains how each came about.
 *
 * <p>Input: {@link io.shardtide.replay.LogRecords}, from an export or a cluster. Output: recomputed
 * plans, and how they and the recomputed allocations compare with the recorded ones. Runs the steps
 * of {@code step}, and the allocator; uses no clock, no Kafka and no TensorFlow (the caller
 * supplies predictors where tables must be predicted).
 */
package io.shardtide.replay;
