package io.shardtide.cost;

import io.shardtide.workload.ClusterSpec;
import io.shardtide.workload.Limits;
import io.shardtide.workload.SourcePosition;
import io.soabase.recordbuilder.core.RecordBuilder;
import java.util.Optional;
import java.util.UUID;

/**
 * Predictions of one table after an accepted event, or after another model took over. Each gives
 * {@code parts} of these in a row; the last completes the generation.
 *
 * @param workloadId the workload
 * @param generation generation of the workload after the event
 * @param eventId the event
 * @param source where the event lies in the log
 * @param modelId the cost model that predicted
 * @param part number of this part, from 0
 * @param parts number of parts, at least 1
 * @param cluster the workload's cluster after the event; its last one if the event deletes it
 * @param proxyHardware the hardware whose costs the model predicts, if that is not the cluster's:
 *     until the cluster's is measured
 * @param update the table that is predicted or removed, or the deletion of the workload; empty if
 *     the event concerns no table
 */
@RecordBuilder
public record CostPredictions(
    String workloadId,
    long generation,
    UUID eventId,
    SourcePosition source,
    String modelId,
    int part,
    int parts,
    ClusterSpec cluster,
    Optional<String> proxyHardware,
    Optional<Update> update) {

  /** What happened to a table, or to the whole workload. */
  public sealed interface Update {
    /** Returns the name of the table; empty if the whole workload is concerned. */
    Optional<String> table();

    /**
     * A new or different table.
     *
     * @param prediction the table with its predictions
     */
    record Predicted(TablePrediction prediction) implements Update {
      @Override
      public Optional<String> table() {
        return Optional.of(prediction.table().name());
      }
    }

    /**
     * A table that was dropped.
     *
     * @param name name of the table
     */
    record Dropped(String name) implements Update {
      @Override
      public Optional<String> table() {
        return Optional.of(name);
      }
    }

    /**
     * The workload is deleted. The last part of its generation: its tables are dropped before.
     *
     * @param reason why, for people; may be empty
     */
    record Deleted(String reason) implements Update {
      @Override
      public Optional<String> table() {
        return Optional.empty();
      }
    }
  }

  /** Checks the numbers of the parts. */
  public CostPredictions {
    Limits.ARGUMENTS.whole("part", part, 0, parts - 1L);
    if (update.filter(Update.Deleted.class::isInstance).isPresent() && part != parts - 1) {
      throw new IllegalArgumentException(
          "the deletion must be the last of %s parts, got part %s".formatted(parts, part));
    }
  }

  /** Returns these predictions without a table: the workload's generation, cluster and model. */
  public CostPredictions withoutTable() {
    return CostPredictionsBuilder.builder(this).part(0).parts(1).update(Optional.empty()).build();
  }

  /** Returns whether the workload is deleted. */
  public boolean isDeletion() {
    return update.filter(Update.Deleted.class::isInstance).isPresent();
  }

  /** Returns whether the generation is complete with this part. */
  public boolean isLast() {
    return part == parts - 1;
  }
}
