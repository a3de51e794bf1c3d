package io.shardtide.growth;

import io.soabase.recordbuilder.core.RecordBuilder;
import java.util.Optional;

/**
 * What is forecast of a hashed table.
 *
 * @param table its name
 * @param ids ids that it holds
 * @param slots slots that it has
 * @param rows slots that it has in the latest generation, or that an earlier report gave it; {@link
 *     TableForecasts#resizes} has what this report gives
 * @param insertions ids that it took in since the report before; 0, as the next two, if the report
 *     does not have the table
 * @param evictions ids that it gave up since then
 * @param collisions lookups since then that found their slot taken by another id
 * @param inDay ids that it will have in a day
 * @param inWeek in 7 days
 * @param inFourWeeks in 28 days
 * @param daysUntilFull in how many days it has more ids than 80% of {@code slots} ({@link
 *     HashedTable#LOAD_FACTOR}); infinite if not within 180 days. Empty if it is not expected to be
 *     full, or makes room by itself
 * @param inputs what it was made from; empty in records of planners that did not write it yet
 */
@RecordBuilder
public record TableForecast(
    String table,
    long ids,
    long slots,
    long rows,
    long insertions,
    long evictions,
    long collisions,
    Range inDay,
    Range inWeek,
    Range inFourWeeks,
    Optional<Range> daysUntilFull,
    Optional<TableInputs> inputs) {}
