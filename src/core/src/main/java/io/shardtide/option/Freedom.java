package io.shardtide.option;

import io.shardtide.domain.TableSpec;

/**
 * One thing that a plan decides of a table, beside the places of its parts. Replica groups are
 * decided for all tables together: they make a smaller problem.
 */
public interface Freedom {
  /**
   * Adds the options that a table has with this freedom to those of the freedoms before it.
   *
   * @param table the table; of one that is cut by use, its rows that are not hot
   * @param hotRows number of hot rows of the options
   */
  void add(Options options, TableSpec table, long hotRows, PredictionInputs inputs);

  /** Returns the same option without what this freedom decides; itself if it decides nothing. */
  default Option without(Option option) {
    return option;
  }

  /** Returns what this freedom decides in an option, for people; empty if nothing. */
  String label(Option option);
}
