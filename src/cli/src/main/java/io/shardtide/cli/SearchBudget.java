package io.shardtide.cli;

import io.shardtide.plan.SearchSettings;
import io.shardtide.workload.Names;
import picocli.CommandLine.ITypeConverter;
import picocli.CommandLine.TypeConversionException;

/** Reads the budget of a search: {@link SearchSettings#evaluationsPerTable}. */
final class SearchBudget implements ITypeConverter<Long> {
  @Override
  public Long convert(String text) {
    try {
      long evaluations = Long.parseLong(text);
      if (SearchSettings.EVALUATIONS_PER_TABLE.contains((double) evaluations)) {
        return evaluations;
      }
    } catch (NumberFormatException e) {
      // Not a whole number of 64 bits: refused below, as one outside the range.
    }
    throw new TypeConversionException(
        "must be a whole number, %s, got %s"
            .formatted(SearchSettings.EVALUATIONS_PER_TABLE, Names.quote(text)));
  }
}
