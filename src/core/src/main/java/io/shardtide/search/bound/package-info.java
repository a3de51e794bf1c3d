/**
 * A lower bound of the predicted step of every plan: how far a plan can be from the best one.
 *
 * <p>Input: a {@link io.shardtide.search.SearchProblem}. Output: milliseconds. Nothing is searched:
 * the bound follows from predictions and the model alone. Imports {@code domain}, {@code cost} and
 * {@code search}.
 *
 * <p>Plans do not have this bound yet but that of {@code search.local}: it is closer (12 to 17%
 * below plans where that is 50 to 65%), and takes 10 to 370 ms where an answer to a change takes
 * 30.
 */
package io.shardtide.search.bound;
