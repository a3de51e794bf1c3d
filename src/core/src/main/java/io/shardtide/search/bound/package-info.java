/**
 * A lower bound of the predicted step of every plan: how far a plan can be from the best one.
 *
 * <p>Input: a {@link io.shardtide.search.problem.SearchProblem}. Output: milliseconds. Nothing is
 * searched: the bound follows from predictions and the model alone.
 */
package io.shardtide.search.bound;
