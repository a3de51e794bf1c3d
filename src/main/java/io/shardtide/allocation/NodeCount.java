package io.shardtide.allocation;

/**
 * A number of nodes that a workload may have.
 *
 * @param nodes number of nodes, at least 1
 * @param devices devices on them that it uses
 * @param samplesPerSecond predicted throughput; 0 if it is not predicted
 */
record NodeCount(int nodes, int devices, double samplesPerSecond) {}
