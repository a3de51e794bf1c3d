/**
 * Finds sharding plans: which columns of which table on which device.
 *
 * <p>In flow: tables with their predictions, a cluster, a cost model. Out flow: shards with what
 * they are predicted to cost, or what is missing. No clock, and chance with a fixed seed: the same
 * problem gives the same answer. What both searches share is here; {@code local} makes plans,
 * {@code reference} is what it is held to. Imports {@code domain} and {@code cost}.
 */
package io.shardtide.search;
