/**
 * Workloads: their tables, clusters and constraints, the events that change them, and what all
 * values share ({@code Limits}, {@code Named}).
 *
 * <p>Inputs: events decoded by {@code wire}. Outputs: immutable values that all other packages
 * read. The records validate themselves, so that every value that exists is valid.
 */
package io.shardtide.workload;
