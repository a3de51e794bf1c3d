/**
 * Benchmarks of the whole service on an embedded broker: latency, load, throughput of folding,
 * restart, drift, and the limits of planners and dashboards.
 *
 * <p>In: seeded tables. Out: tables of figures. Broker, registry protocol, transactions and default
 * settings are as in production. This package uses Kafka, so that the rest of {@code bench} does
 * not.
 */
package io.shardtide.bench.service;
