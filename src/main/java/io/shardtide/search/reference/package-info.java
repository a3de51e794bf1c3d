/**
 * NeuroShard's search, kept plain: what the search that plans are made with is held to.
 *
 * <p>In flow: a problem, settings. Out flow: a plan or what is missing. Imports {@code search},
 * {@code cost} and {@code domain}; only tests and benchmarks import it.
 */
package io.shardtide.search.reference;
