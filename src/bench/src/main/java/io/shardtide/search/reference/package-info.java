/**
 * NeuroShard's search, kept simple: the oracle that the planner's search is compared with.
 *
 * <p>Inputs: a problem, settings. Outputs: a plan or the memory that is missing. Imports {@code
 * search}, {@code cost} and {@code domain}; only tests and benchmarks import it.
 */
package io.shardtide.search.reference;
