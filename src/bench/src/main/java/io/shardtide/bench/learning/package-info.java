/**
 * The learning loop on a simulated machine, without Kafka: how much faster the plans of learned
 * models are there.
 *
 * <p>In: models. Out: results. Runs the real steps with their state in memory.
 */
package io.shardtide.bench.learning;
