/**
 * The search that plans are made with: local changes, from scratch or from the plan that runs.
 *
 * <p>In flow: a problem, maybe with a running plan, and settings. Out flow: a plan with what is
 * known of it, or what is missing. {@code LocalSearch} leads, {@code Placer} begins, {@code
 * Annealing} looks for changes, {@code Objective} says what they cost, {@code ShardLayout} and
 * {@code Explainer} write the result down. Imports {@code search}, {@code cost} and {@code domain}.
 */
package io.shardtide.search.local;
