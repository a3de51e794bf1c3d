/**
 * The planner's search: local moves, from scratch or from the running plan.
 *
 * <p>Inputs: a problem, maybe with a running plan, and settings. Outputs: a plan with its analysis,
 * or the memory that is missing. {@code LocalSearch} controls the search, {@code OptionPlacer}
 * creates initial assignments, {@code Annealing} proposes moves, {@code Objective} computes their
 * costs, {@code ShardLayout} and {@code Explainer} produce the result. Imports {@code search},
 * {@code cost} and {@code domain}.
 */
package io.shardtide.search.local;
