/**
 * The terms that Shardtide shares with its users: workloads and the events that change them,
 * clusters, shards, plans.
 *
 * <p>Inputs: events decoded by {@code wire}. Outputs: immutable values that all other packages
 * read. The records validate themselves, so that every value that exists is valid. Imports {@code
 * java.*} only.
 */
package io.shardtide.domain;
