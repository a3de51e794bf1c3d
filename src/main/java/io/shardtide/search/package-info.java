/**
 * Finds sharding plans: which columns of which table on which device.
 *
 * <p>In flow: tables with their predictions, a cluster, a cost model. Out flow: shards with what
 * they are predicted to cost, or what is missing. No clock, no randomness, no threads: the same
 * problem gives the same answer. Imports {@code domain} and {@code cost}.
 */
package io.shardtide.search;
