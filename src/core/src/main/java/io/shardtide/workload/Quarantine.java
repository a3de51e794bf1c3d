package io.shardtide.workload;

import io.soabase.recordbuilder.core.RecordBuilder;
import java.time.Instant;
import java.util.Optional;

/**
 * A key in the quarantine of a topology: its records are held, and those of other keys go on.
 *
 * @param topology name of the topology
 * @param key the workload, or the hardware or the pool of topologies that are keyed by these
 * @param entered whether the key is in quarantine; false if it left
 * @param error what failed, and the error
 * @param source the record that failed; empty if work failed that no single record asked for
 * @param aborted whether it failed after its first write, so that a transaction was aborted once
 * @param incomplete whether records came that are not held and that later ones build on: only the
 *     workload's deletion ends this quarantine
 * @param deleted whether the workload's deletion is held: records before it that fail again are
 *     rejected
 * @param version version of the planner that tried last
 * @param at when it was tried last, in whole milliseconds
 */
@RecordBuilder
public record Quarantine(
    String topology,
    String key,
    boolean entered,
    String error,
    Optional<SourcePosition> source,
    boolean aborted,
    boolean incomplete,
    boolean deleted,
    String version,
    Instant at) {

  /** Returns the quarantine as the key leaves it. */
  public Quarantine left(String byVersion, Instant now) {
    return QuarantineBuilder.builder(this).entered(false).version(byVersion).at(now).build();
  }

  /**
   * Returns whether the next record of the key ends the quarantine: nothing was written and no
   * record is held, and the record may change what failed.
   */
  public boolean endsWithNextRecord() {
    return source.isEmpty() && !aborted;
  }
}
