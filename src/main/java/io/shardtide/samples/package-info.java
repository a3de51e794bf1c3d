/**
 * Reads and writes sample folders: labelled samples of shards and collectives as JSON Lines, the
 * format of docs/COST-MODELS.md.
 *
 * <p>In and out: files and {@link io.shardtide.cost.SampleSet}. Errors name file, line, field,
 * value and expectation. Imports {@code domain} and {@code cost}.
 */
package io.shardtide.samples;
