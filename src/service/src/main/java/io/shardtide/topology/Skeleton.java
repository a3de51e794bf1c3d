package io.shardtide.topology;

import io.shardtide.wire.Registry;

/**
 * What a topology's processors share.
 *
 * @param name the topology
 * @param registry schemas of the records
 * @param metrics counts rejections, and shows keys in quarantine
 * @param retry waits while the registry is unavailable
 * @param failed what failed in aborted transactions
 * @param faults faults to inject; none but in tests
 * @param builtMs when the topology was built: quarantines of before are released once
 */
record Skeleton(
    TopologyName name,
    Registry registry,
    PlannerMetrics metrics,
    RegistryRetry retry,
    FailedAttempts failed,
    Faults faults,
    long builtMs) {}
