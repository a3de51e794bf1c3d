/**
 * NeuroShard's search, kept simple: the oracle that the planner's search is compared with.
 *
 * <p>Inputs: a problem, settings. Outputs: a plan or the memory that is missing.
 */
package io.shardtide.search.reference;
