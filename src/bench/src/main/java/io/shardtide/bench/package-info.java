/**
 * Tables and figures of benchmarks. The tests measure search, cost model, detectors and pools.
 *
 * <p>In: the shipped models, seeded tables. Out: figures for the docs.
 */
package io.shardtide.bench;
