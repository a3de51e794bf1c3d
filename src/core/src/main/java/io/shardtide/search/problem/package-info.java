/**
 * What is searched and what is found: tables with their predictions on devices of given memory, a
 * running plan, a result; and why no plan can exist.
 *
 * <p>Inputs: predictions of tables, a cluster, a cost model. Outputs: the problem that {@code
 * search} solves and that {@code search.bound} says how well it can be solved.
 */
package io.shardtide.search.problem;
