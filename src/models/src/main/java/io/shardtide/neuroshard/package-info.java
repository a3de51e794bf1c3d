/**
 * Reads files in the formats that NeuroShard published: tables, tasks and cost samples, plain or
 * gzip. {@link io.shardtide.neuroshard.SampleFolders} reads samples in either format.
 *
 * <p>In: files. Out: {@link io.shardtide.domain.TableSpec}, {@link io.shardtide.neuroshard.Task}
 * and {@link io.shardtide.cost.SampleSet}. Errors name file, line and expectation. Imports {@code
 * domain}, {@code cost} and {@code samples}.
 */
package io.shardtide.neuroshard;
