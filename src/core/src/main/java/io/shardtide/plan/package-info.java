/**
 * Plans as values: shards and where they are, what was predicted and measured of them, how a plan
 * came about, and what moves from one plan to the next.
 *
 * <p>Inputs: what a search found, measured costs. Outputs: immutable values, which validate
 * themselves, with ids that depend on nothing else.
 */
package io.shardtide.plan;
