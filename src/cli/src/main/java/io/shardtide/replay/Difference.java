package io.shardtide.replay;

import java.util.List;

/**
 * A recorded plan, allocation or forecast that was not reproduced.
 *
 * @param owner the workload or the pool
 * @param generation its generation
 * @param id the recorded plan or allocation; of forecasts, the report that they follow
 * @param inputs what the record says it was made from, for people
 * @param explanation what is known of the cause, for people
 * @param fields one line per different field: its name, the recorded and the recomputed value; none
 *     if an input is missing
 */
public record Difference(
    String owner,
    long generation,
    String id,
    String inputs,
    String explanation,
    List<String> fields) {
  /** Copies the list. */
  public Difference {
    fields = List.copyOf(fields);
  }

  Difference(String owner, long generation, String id, String inputs) {
    this(owner, generation, id, inputs, "", List.of());
  }

  Difference with(String cause, List<String> different) {
    return new Difference(owner, generation, id, inputs, cause, different);
  }
}
