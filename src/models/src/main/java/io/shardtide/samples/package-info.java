/**
 * Reads sample folders, labelled samples of shards and collectives, in the format of
 * docs/MODELS.md, and reads files of workloads to plan, in that of docs/FILES.md.
 *
 * <p>In and out: files, {@link io.shardtide.cost.SampleSet} and {@link
 * io.shardtide.samples.WorkloadTask}. Errors name file, line, field, value and expectation.
 */
package io.shardtide.samples;
