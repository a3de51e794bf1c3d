/**
 * Reads the files that NeuroShard published the layout of: tables, tasks and cost samples, plain or
 * gzip.
 *
 * <p>In flow: files. Out flow: {@link io.shardtide.domain.TableSpec}, {@link
 * io.shardtide.neuroshard.Task} and {@link io.shardtide.cost.SampleSet}. Errors name the file, the
 * line and what is legal. Imports {@code domain} and {@code cost}.
 */
package io.shardtide.neuroshard;
