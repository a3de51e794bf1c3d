package io.shardtide.wire;

import io.shardtide.domain.ClusterSpec;
import java.util.Optional;

/**
 * What the topologies keep of a workload beside its tables.
 *
 * @param generation number of events that were applied
 * @param cluster the cluster, once it is set
 * @param modelId the cost model that predicted all tables, once one did
 */
public record WorkloadState(
    long generation, Optional<ClusterSpec> cluster, Optional<String> modelId) {}
