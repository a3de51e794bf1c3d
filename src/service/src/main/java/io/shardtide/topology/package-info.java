/**
 * The Kafka Streams topologies, their stores, and what starts them on a cluster.
 *
 * <p>In flow: records of the log. Out flow: records of the log. Each topology is built by a pure
 * static function and does nothing but move values between topics, stores and a step of {@code
 * step} or {@code learn}. {@link io.shardtide.topology.Acls} has what that needs on a cluster with
 * an authorizer. Kafka types stop here and at {@code wire}.
 */
package io.shardtide.topology;
