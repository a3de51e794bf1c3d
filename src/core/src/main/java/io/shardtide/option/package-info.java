/**
 * What a plan may decide of a table: into which parts it is cut, where their rows are, with which
 * caches and hot rows.
 *
 * <p>Inputs: tables and clusters. Outputs: the {@link io.shardtide.option.TablePart}s that are
 * predicted, and that a search chooses among. Imports {@code domain}.
 */
package io.shardtide.option;
