/**
 * A pool of devices that workloads share: its nodes, the claims on them, the throughput that each
 * workload would have, and the allocation of nodes to workloads.
 *
 * <p>Inputs: events. Outputs: immutable values, which validate themselves, for {@code allocation}
 * and its callers.
 */
package io.shardtide.pool;
