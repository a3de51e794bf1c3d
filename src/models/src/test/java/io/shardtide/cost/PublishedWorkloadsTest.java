package io.shardtide.cost;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.shardtide.models.ModelFiles;
import io.shardtide.plan.OutOfRange;
import io.shardtide.workload.ReuseHistogram;
import io.shardtide.workload.TableSpec;
import java.io.IOException;
import java.io.InputStream;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

/** Tables of published models are within the training range of the shipped model of nodes. */
class PublishedWorkloadsTest {
  private static final int BATCH = 65_536;
  private static final int FBGEMM_BAG = 20;

  @Test
  void allTablesAreWithinTheTrainingRange() throws IOException {
    List<TableSpec> tables = tables();
    TrainedRanges ranges = new TrainedRanges(ModelFiles.shippedForNodes().ranges());

    assertThat(tables).hasSizeGreaterThan(4_000);
    assertThat(tables)
        .allSatisfy(
            table ->
                assertThat(
                        ranges.ofShape(
                            table.name(), new Shapes(table, BATCH).ofColumns(table.columns())))
                    .isEmpty());
  }

  @Test
  void aTableOutsideIsNamedWithItsValueAndTheRange() {
    TrainedRanges ranges = new TrainedRanges(ModelFiles.shippedForNodes().ranges());
    TableSpec narrow = new TableSpec("wide", 1_000, 512, 1, ReuseHistogram.UNKNOWN, 4);

    assertThat(
            ranges.ofShape("wide", new Shapes(narrow, BATCH).ofColumns(512)).stream()
                .map(OutOfRange::describe))
        .singleElement()
        .asString()
        .contains("wide", "columns", "512", "4", "256");
  }

  private static List<TableSpec> tables() throws IOException {
    JsonNode root;
    try (InputStream in =
        PublishedWorkloadsTest.class.getResourceAsStream("published-workloads.json")) {
      root = new ObjectMapper().readTree(in);
    }
    List<TableSpec> tables = new ArrayList<>();
    root.properties()
        .forEach(
            entry -> {
              JsonNode workload = entry.getValue();
              if (workload.has("rows")) {
                addRows(tables, entry.getKey(), workload);
              } else if (workload.has("groups")) {
                addGroups(tables, entry.getKey(), workload.get("groups"));
              } else {
                workload.get("configs").forEach(config -> addConfig(tables, config));
              }
            });
    return tables;
  }

  private static void addRows(List<TableSpec> tables, String name, JsonNode workload) {
    for (int i = 0; i < workload.get("rows").size(); i++) {
      add(
          tables,
          name,
          workload.get("rows").get(i).longValue(),
          workload.path("dim").asInt(128),
          workload.path("multi_hot").path(i).asDouble(1));
    }
  }

  private static void addGroups(List<TableSpec> tables, String name, JsonNode groups) {
    for (JsonNode group : groups) {
      for (int t = 0; t < group.get("tables").intValue(); t++) {
        add(
            tables,
            name,
            group.get("rows").longValue(),
            group.get("columns").intValue(),
            group.get("lookups_per_sample").doubleValue());
      }
    }
  }

  private static void addConfig(List<TableSpec> tables, JsonNode config) {
    for (int i = 0; i < config.get(0).size(); i++) {
      add(
          tables,
          "fbgemm",
          config.get(0).get(i).longValue(),
          config.get(1).get(i).intValue(),
          FBGEMM_BAG);
    }
  }

  private static void add(
      List<TableSpec> tables, String name, long rows, int columns, double poolingFactor) {
    tables.add(
        new TableSpec(
            name + "-" + tables.size(), rows, columns, poolingFactor, ReuseHistogram.UNKNOWN, 4));
  }
}
