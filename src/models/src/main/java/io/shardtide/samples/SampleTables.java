package io.shardtide.samples;

import com.fasterxml.jackson.databind.node.ObjectNode;
import io.shardtide.files.TextFiles;
import io.shardtide.workload.Limits;
import io.shardtide.workload.TableSpec;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * Reads {@code tables.jsonl}.
 *
 * @param tables tables by line
 * @param reuseBatchSizes for each table, samples in the batch that its reuse histogram describes
 */
record SampleTables(List<TableSpec> tables, List<Integer> reuseBatchSizes) {
  /** The batch of NeuroShard's samples. */
  static final int REUSE_BATCH_SIZE = 65_536;

  static final String NAME = "tables.jsonl";

  /** All others are ignored, columns too: each shard has its own. */
  private static final List<String> FIELDS =
      List.of("name", "rows", "poolingFactor", "reuseHistogram", "accessCdf", "features");

  static final SampleTables NONE = new SampleTables(List.of(), List.of());

  static SampleTables read(Path file) throws IOException {
    List<TableSpec> tables = new ArrayList<>();
    Map<String, Integer> lines = new HashMap<>();
    List<Integer> batchSizes = new ArrayList<>();
    TextFiles.readLines(
        file,
        line -> {
          ObjectNode json = JsonRecords.parse(line);
          int batchSize =
              JsonRecords.read(Batch.class, json).reuseBatchSize.orElse(REUSE_BATCH_SIZE);
          Limits.ARGUMENTS.whole("reuseBatchSize", batchSize, 1, Integer.MAX_VALUE);
          TableSpec table =
              JsonRecords.read(
                  TableSpec.class, json.retain(FIELDS).put("columns", TableSpec.COLUMN_UNIT));
          Integer same = lines.putIfAbsent(table.name(), lines.size() + 1);
          if (same != null) {
            throw new IllegalArgumentException(
                "name must be unique, got \"%s\" as on line %s".formatted(table.name(), same));
          }
          batchSizes.add(batchSize);
          tables.add(table);
        });
    return new SampleTables(tables, batchSizes);
  }

  private record Batch(Optional<Integer> reuseBatchSize) {}
}
