package io.shardtide.samples;

import io.shardtide.domain.AccessCdf;
import io.shardtide.domain.ReuseHistogram;
import io.shardtide.domain.TableConstraints;
import io.shardtide.domain.TableSpec;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * Reads {@code tables.jsonl}.
 *
 * @param tables tables by line
 * @param reuseBatchSize samples in the batch that their reuse histograms describe
 */
record SampleTables(List<TableSpec> tables, int reuseBatchSize) {
  /** The batch of NeuroShard's samples. */
  static final int REUSE_BATCH_SIZE = 65_536;

  static final String NAME = "tables.jsonl";

  /** Columns and bytes per element are not used in samples: each shard has its own. */
  private static final int COLUMNS = TableSpec.COLUMN_UNIT;

  private static final double BYTES_PER_ELEMENT = 4;

  static final SampleTables NONE = new SampleTables(List.of(), REUSE_BATCH_SIZE);

  static SampleTables read(Path file) throws IOException {
    List<TableSpec> tables = new ArrayList<>();
    Map<String, Integer> lines = new HashMap<>();
    int[] batchSize = {REUSE_BATCH_SIZE};
    TextFiles.readLines(
        file,
        line -> {
          JsonFields json = JsonFields.parse(line);
          TableSpec table = table(json);
          Integer same = lines.putIfAbsent(table.name(), lines.size() + 1);
          if (same != null) {
            throw new IllegalArgumentException(
                "name must be unique, got \"%s\" as on line %d".formatted(table.name(), same));
          }
          int size =
              json.has("reuseBatchSize") ? json.wholeNumber("reuseBatchSize", 1) : REUSE_BATCH_SIZE;
          if (!tables.isEmpty() && size != batchSize[0]) {
            throw new IllegalArgumentException(
                "reuseBatchSize must be %d, as on the lines before, got %d"
                    .formatted(batchSize[0], size));
          }
          batchSize[0] = size;
          tables.add(table);
        });
    return new SampleTables(tables, batchSize[0]);
  }

  /** Returns a table of the fields that all files of tables share. */
  static TableSpec table(JsonFields json) {
    return new TableSpec(
        json.text("name"),
        json.wholeNumber("rows", 1, TableSpec.MAX_ROWS),
        COLUMNS,
        json.number("poolingFactor"),
        new ReuseHistogram(json.optionalNumbers("reuseHistogram")),
        BYTES_PER_ELEMENT,
        new AccessCdf(json.optionalNumbers("accessCdf")),
        0,
        0,
        TableConstraints.NONE,
        true);
  }
}
