/**
 * Converts between the log's bytes and the domain: Avro records, serdes, topics, JSON lines, bundle
 * files, and the rejection of undecodable records.
 *
 * <p>In flow: bytes. Out flow: {@code domain} and {@code cost} values, or a {@link
 * io.shardtide.workload.RejectedEvent}. The only place that knows Avro and the schema registry.
 */
package io.shardtide.wire;
