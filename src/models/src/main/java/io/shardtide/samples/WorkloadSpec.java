package io.shardtide.samples;

import io.shardtide.workload.ClusterSpec;
import io.shardtide.workload.TableSpec;
import java.util.List;
import java.util.Optional;

/**
 * A workload in a file, or a part of one: what is left out is not known.
 *
 * @param task id of the workload
 * @param cluster the devices
 * @param tables the tables
 */
public record WorkloadSpec(String task, Optional<ClusterSpec> cluster, List<TableSpec> tables) {}
