package io.shardtide.samples;

import io.shardtide.files.TextFiles;
import io.shardtide.workload.AccessCdf;
import io.shardtide.workload.ReuseHistogram;
import io.shardtide.workload.TableFeature;
import io.shardtide.workload.TableSpec;
import io.shardtide.workload.TableSpecBuilder;
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
 * @param reuseBatchSizes for each table, samples in the batch that its reuse histogram describes
 */
record SampleTables(List<TableSpec> tables, List<Integer> reuseBatchSizes) {
  /** The batch of NeuroShard's samples. */
  static final int REUSE_BATCH_SIZE = 65_536;

  static final String NAME = "tables.jsonl";

  /** Columns and bytes per element are not used in samples: each shard has its own. */
  private static final int COLUMNS = TableSpec.COLUMN_UNIT;

  private static final double BYTES_PER_ELEMENT = 4;

  static final SampleTables NONE = new SampleTables(List.of(), List.of());

  static SampleTables read(Path file) throws IOException {
    List<TableSpec> tables = new ArrayList<>();
    Map<String, Integer> lines = new HashMap<>();
    List<Integer> batchSizes = new ArrayList<>();
    TextFiles.readLines(
        file,
        line -> {
          JsonFields json = JsonFields.parse(line);
          TableSpec table = table(json);
          Integer same = lines.putIfAbsent(table.name(), lines.size() + 1);
          if (same != null) {
            throw new IllegalArgumentException(
                "name must be unique, got \"%s\" as on line %s".formatted(table.name(), same));
          }
          batchSizes.add(
              (int) json.wholeNumber("reuseBatchSize", 1, Integer.MAX_VALUE, REUSE_BATCH_SIZE));
          tables.add(table);
        });
    return new SampleTables(tables, batchSizes);
  }

  /**
   * Returns a table of the fields that all files of tables share. A table with features may leave
   * out its pooling factor.
   */
  static TableSpec table(JsonFields json) {
    List<TableFeature> features = json.optionalObjects("features", SampleTables::feature);
    boolean isSum = !json.has("poolingFactor") && !features.isEmpty();
    TableSpec table =
        new TableSpec(
            json.text("name"),
            json.wholeNumber("rows", 1, TableSpec.MAX_ROWS),
            COLUMNS,
            isSum ? TableFeature.lookups(features) : json.number("poolingFactor"),
            new ReuseHistogram(json.optionalNumbers("reuseHistogram")),
            BYTES_PER_ELEMENT);
    return TableSpecBuilder.builder(table)
        .accessCdf(new AccessCdf(json.optionalNumbers("accessCdf")))
        .features(features)
        .build();
  }

  private static TableFeature feature(JsonFields json) {
    json.checkNames(TableFeature.class);
    return new TableFeature(
        json.text("name"),
        json.number("poolingFactor"),
        json.number("batchShare", 1),
        json.number("duplicates", 1));
  }
}
