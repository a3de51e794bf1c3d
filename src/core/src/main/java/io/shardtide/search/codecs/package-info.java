/**
 * Searches a plan together with the codecs of its collectives.
 *
 * <p>Input: a problem whose cluster allows codecs. Output: the best plan found, with its codecs.
 * {@code search.local} searches with given codecs and chooses the best ones of the plan that it
 * found; this package lets it search again with those. Imports {@code search}, {@code
 * search.local}, {@code cost} and {@code domain}.
 */
package io.shardtide.search.codecs;
