package io.shardtide.step;

import io.shardtide.cost.CostPredictions;
import io.shardtide.cost.CostPredictions.Update;
import io.shardtide.cost.TablePrediction;
import java.util.List;
import java.util.Optional;

/**
 * Workloads as a step stores them: a header each, and tables.
 *
 * @param <H> type of the headers
 * @param <T> what is stored of a table
 */
public class WorkloadTables<H, T> {
  private final KeyValues<H> headers;
  private final H none;
  private final KeyValues<T> tables;
  private final Entry<T> entry;

  /** Makes what is stored of a table. */
  @FunctionalInterface
  public interface Entry<T> {
    /**
     * @param before what is stored of it; empty for a new table
     * @param predicted its latest prediction
     * @param generation generation of the workload that is predicted
     */
    T of(Optional<T> before, TablePrediction predicted, long generation);
  }

  /**
   * What was stored of a table, and what is now.
   *
   * @param before empty for a new table
   * @param after empty for one that was dropped
   */
  public record Changed<T>(String name, Optional<T> before, Optional<T> after) {}

  /**
   * @param none the header of a workload that has none
   */
  public WorkloadTables(KeyValues<H> headers, H none, KeyValues<T> tables, Entry<T> entry) {
    this.headers = headers;
    this.none = none;
    this.tables = tables;
    this.entry = entry;
  }

  /** Returns the workloads that have a header. */
  public List<String> workloads() {
    return headers.workloads();
  }

  /** Returns a workload's header. */
  public H header(String workloadId) {
    return headers.get(workloadId, "").orElse(none);
  }

  /** Stores a workload's header; writes nothing if it is stored already. */
  public void putHeader(String workloadId, H header) {
    if (!header.equals(headers.get(workloadId, "").orElse(none))) {
      headers.put(workloadId, "", header);
    }
  }

  /** Returns what is stored of tables, by their names. */
  public KeyValues<T> tables() {
    return tables;
  }

  /**
   * Applies one part of a generation's predictions to the tables.
   *
   * @return the table that it predicts or drops, if any, whether or not that changed what is stored
   */
  public Optional<Changed<T>> apply(CostPredictions part) {
    String id = part.workloadId();
    if (part.update().orElse(null) instanceof Update.Predicted predicted) {
      String name = predicted.prediction().table().name();
      Optional<T> before = tables.get(id, name);
      Optional<T> after = Optional.of(entry.of(before, predicted.prediction(), part.generation()));
      // A new model predicts all tables again; they are the same.
      if (!after.equals(before)) {
        tables.put(id, name, after.get());
      }
      return Optional.of(new Changed<>(name, before, after));
    }
    return part.update().orElse(null) instanceof Update.Dropped dropped
        ? Optional.of(
            new Changed<>(dropped.name(), tables.delete(id, dropped.name()), Optional.empty()))
        : Optional.empty();
  }
}
