/**
 * Measures the whole service on an embedded broker: how fast changes are answered, folded, and
 * answered again after a restart.
 *
 * <p>In flow: tables of known seeds. Out flow: tables of numbers. Everything is as in production:
 * the broker, the registry's protocol, transactions, the default settings. Kafka types are here, so
 * that the rest of {@code bench} needs none. Imports what it measures; only the command line
 * imports it.
 */
package io.shardtide.bench.service;
