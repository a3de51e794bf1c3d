/**
 * The planner's search: local moves, from scratch or from the running plan, in one group of devices
 * or several.
 *
 * <p>Inputs: a problem, maybe with a running plan, and settings. Outputs: a plan with its analysis,
 * or the memory that is missing. There is no clock, and random numbers have a fixed seed: the same
 * problem gives the same result. A plan is a {@code Way} and places for each table, in a {@code
 * State}. {@code TableWays} says which ways there are, {@code Placer} creates starts, {@code Race}
 * and {@code Repair} spend the budget on {@code Annealing}, {@code Proposals} draws moves, {@code
 * Objective} computes their costs, {@code ShardLayout} and {@code Explainer} produce the result.
 * {@code GroupSearch} chooses the replica groups: each way to form them is a problem of one group.
 */
package io.shardtide.search;
