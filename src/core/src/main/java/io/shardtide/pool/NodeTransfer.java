package io.shardtide.pool;

import java.util.Optional;

/**
 * A node that a workload no longer has.
 *
 * @param node name of the node
 * @param from the workload that had it
 * @param to the workload that has it now; empty if nobody
 * @param reason why, for people
 */
public record NodeTransfer(String node, String from, Optional<String> to, String reason) {}
