package io.shardtide.trainer;

import io.shardtide.domain.Region;
import io.shardtide.domain.TableSpec;
import java.util.HashMap;
import java.util.Map;
import java.util.TreeMap;

/**
 * The lookups of a device's shards: of each table those of the batch that the device serves. Shards
 * of the same rows share them.
 */
final class DeviceLookups {
  private final int batch;
  private final long seed;
  private final Map<String, LookupSource> sources = new TreeMap<>();
  private final Map<String, Lookups> batches = new HashMap<>();
  private final Map<Selection, Lookups> selections = new HashMap<>();

  /**
   * Some lookups of a batch.
   *
   * @param table name of the table
   * @param rowOffset first row
   * @param rowEnd row behind the last one
   * @param firstSample first sample
   * @param samples number of samples
   */
  private record Selection(
      String table, long rowOffset, long rowEnd, int firstSample, int samples) {}

  /**
   * @param batch samples in a batch
   * @param seed seed of the lookups
   */
  DeviceLookups(int batch, long seed) {
    this.batch = batch;
    this.seed = seed;
  }

  /** Returns the lookups of a whole batch. */
  Lookups of(TableSpec table) {
    sources.computeIfAbsent(table.name(), name -> new LookupSource(table, batch, seed));
    return batches.computeIfAbsent(table.name(), name -> new Lookups(batch));
  }

  /** Returns the lookups of a region's rows by some samples. */
  Lookups of(TableSpec table, Region region, int firstSample, int samples) {
    Lookups all = of(table);
    if (region.rows() == table.rows() && samples == batch) {
      return all;
    }
    return selections.computeIfAbsent(
        new Selection(table.name(), region.rowOffset(), region.rowEnd(), firstSample, samples),
        selection -> new Lookups(samples));
  }

  /** Draws the lookups of a step. */
  void draw(long step) {
    sources.forEach((table, source) -> source.draw(step, batches.get(table)));
    selections.forEach(
        (selection, lookups) ->
            lookups.select(
                batches.get(selection.table()),
                selection.rowOffset(),
                selection.rowEnd(),
                selection.firstSample()));
  }
}
