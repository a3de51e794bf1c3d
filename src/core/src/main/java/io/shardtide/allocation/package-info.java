/**
 * Allocates the nodes of a pool to workloads: predicts each workload's throughput by number of
 * devices, decides how many nodes each one has, and which.
 *
 * <p>Inputs: the state of a pool, tables and a predictor of their costs, the allocation before, the
 * policy. Output: the next allocation with its reasons; a pure function of the inputs.
 */
package io.shardtide.allocation;
