/**
 * Measurements of the whole service on an embedded broker. Here the latency of a change; the tests
 * measure load, restarts, folding, and the limits of planners and dashboards.
 *
 * <p>In: seeded tables. Out: figures. Broker, registry protocol, transactions and default settings
 * are as in production. This package uses Kafka, so that the rest of {@code bench} does not.
 */
package io.shardtide.bench.service;
