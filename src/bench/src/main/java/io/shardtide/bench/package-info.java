/**
 * Benchmarks of the parts that determine the latency of a plan: cost model, search, trainer,
 * detectors.
 *
 * <p>In: the shipped models, seeded tables. Out: figures for the docs. Imports what it measures;
 * only the command line imports it.
 */
package io.shardtide.bench;
