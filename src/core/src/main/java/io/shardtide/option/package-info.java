/**
 * What a plan decides of a table: each {@code Freedom} adds parts that it may have, and hot rows
 * double them.
 *
 * <p>Inputs: tables and clusters. Outputs: the {@link io.shardtide.option.Options} that are
 * predicted, and that a search chooses among.
 */
package io.shardtide.option;
