/**
 * Searches sharding plans: which columns of which table on which device.
 *
 * <p>Inputs: predictions of tables, a cluster, a cost model. Outputs: shards with predicted costs,
 * or the memory that is missing. There is no clock, and random numbers have a fixed seed: the same
 * problem gives the same result. This package has what both searches share; {@code local} makes the
 * plans, {@code groups} chooses among those of several replica groups, {@code bound} says what no
 * plan can be better than, {@code reference} is the oracle that they are compared with.
 */
package io.shardtide.search;
