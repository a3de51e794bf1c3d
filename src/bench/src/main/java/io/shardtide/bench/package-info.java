/**
 * Benchmarks of the parts that determine the latency of a plan: cost model, search, trainer,
 * detectors.
 *
 * <p>In: the shipped models, seeded tables. Out: figures for the docs.
 */
package io.shardtide.bench;
