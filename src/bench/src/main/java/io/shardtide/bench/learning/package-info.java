/**
 * A simulated machine that changes, which the demo runs plans on. The tests learn from it, without
 * Kafka: how much faster the plans of learned models are there.
 *
 * <p>In: models. Out: what steps take. Runs the real steps with their state in memory.
 */
package io.shardtide.bench.learning;
