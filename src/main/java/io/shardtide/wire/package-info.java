/**
 * Between the log's bytes and the domain: Avro records, serdes, the catalogue of topics, JSON
 * lines, bundle files, and the sorting of what cannot be read.
 *
 * <p>In flow: bytes. Out flow: {@code domain} and {@code cost} values, or a {@link
 * io.shardtide.domain.RejectedEvent}. The only place that knows Avro and the schema registry.
 * Imports {@code domain}, {@code cost} and the generated {@code io.shardtide.avro}.
 */
package io.shardtide.wire;
