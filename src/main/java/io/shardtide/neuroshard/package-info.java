/**
 * Reads and writes files in the formats that NeuroShard published: tables, tasks and cost samples,
 * plain or gzip.
 *
 * <p>In: files. Out: {@link io.shardtide.domain.TableSpec}, {@link io.shardtide.neuroshard.Task}
 * and {@link io.shardtide.cost.SampleSet}. Errors name file, line and expectation. Imports {@code
 * domain} and {@code cost}.
 */
package io.shardtide.neuroshard;
