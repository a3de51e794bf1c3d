/**
 * What the outside world says and hears: workloads and the events that change them, clusters,
 * shards, plans.
 *
 * <p>In flow: events decoded by {@code wire}. Out flow: immutable values that every other room
 * reads. The records validate themselves, so that a value that exists is legal. Imports {@code
 * java.*} only.
 */
package io.shardtide.domain;
