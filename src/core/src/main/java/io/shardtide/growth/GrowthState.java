package io.shardtide.growth;

import io.shardtide.cost.CostPredictions;
import io.shardtide.state.Newest;
import io.shardtide.workload.ClusterSpec;
import io.soabase.recordbuilder.core.RecordBuilder;
import java.time.Instant;
import java.util.List;
import java.util.Optional;

/**
 * What the growth step stores of a workload beside its tables.
 *
 * @param generation the latest generation that was predicted
 * @param parts parts of the next generation that were applied already
 * @param cluster its cluster; empty before the first prediction, and once it is deleted
 * @param fixedBytes bytes of the tables that are not hashed
 * @param reports ids of the latest reports, the oldest first
 * @param announced for when the end of memory was announced last; empty if it never was
 * @param runs the latest runs that reported, the oldest first; the last one is followed
 */
@RecordBuilder
public record GrowthState(
    long generation,
    int parts,
    Optional<ClusterSpec> cluster,
    double fixedBytes,
    Optional<Instant> announced,
    List<String> reports,
    List<String> runs) {

  /** A client's retries end within seconds, so that duplicates follow closely. */
  public static final int REMEMBERED_REPORTS = 32;

  /** A trainer, its successor, and some that came between. */
  public static final int REMEMBERED_RUNS = 8;

  /** Before the first prediction, and after a deletion. */
  public static final GrowthState NONE =
      new GrowthState(0, 0, Optional.empty(), 0, Optional.empty(), List.of(), List.of());

  /** Copies the lists. */
  public GrowthState {
    reports = List.copyOf(reports);
    runs = List.copyOf(runs);
  }

  /** Returns this after a part of a generation's predictions; a deletion leaves nothing. */
  GrowthState with(CostPredictions part, double bytes) {
    if (part.isDeletion()) {
      return NONE;
    }
    return with()
        .generation(part.isLast() ? part.generation() : generation)
        .parts(part.isLast() ? 0 : part.part() + 1)
        .cluster(Optional.of(part.cluster()))
        .fixedBytes(bytes)
        .build();
  }

  /** Returns this after a report, and the announcement that followed, if any. */
  GrowthState reported(FillReport report, Optional<MemoryWarning> warning) {
    return with()
        .announced(warning.map(of -> of.time().median()).or(() -> announced))
        .reports(Newest.with(reports, report.reportId(), REMEMBERED_REPORTS))
        .runs(Newest.with(runs, report.run(), REMEMBERED_RUNS))
        .build();
  }

  /** Returns a builder of a copy. */
  public GrowthStateBuilder with() {
    return GrowthStateBuilder.builder(this);
  }
}
