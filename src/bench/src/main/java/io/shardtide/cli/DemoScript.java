package io.shardtide.cli;

import io.shardtide.bench.MlperfTables;
import io.shardtide.cost.ModelBundle;
import io.shardtide.workload.Change;
import io.shardtide.workload.Change.ClusterSet;
import io.shardtide.workload.Change.TableDropped;
import io.shardtide.workload.Change.TableUpserted;
import io.shardtide.workload.ClusterSpec;
import io.shardtide.workload.ReuseHistogram;
import io.shardtide.workload.TableSpec;
import io.shardtide.workload.WorkloadChange;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.UUID;

/** The demo's script: the tables of a real model on a cluster, then changes to them. */
final class DemoScript {
  /** The workload that the demo plans. */
  static final String WORKLOAD = "mlperf-dlrm-dcnv2";

  /** Who publishes. */
  static final String SOURCE = "demo";

  private static final int COLUMNS = MlperfTables.COLUMNS;
  private static final double BYTES_PER_ELEMENT = 4;
  private static final int BATCH_SIZE = 65_536;
  private static final int DEVICES_PER_NODE = 8;
  private static final long GIB = 1L << 30;
  private static final long MEMORY_BYTES = 24 * GIB;

  private final ModelBundle model;
  private final InstantSource clock;
  private final List<TableSpec> tables;
  private final List<Scene> scenes = new ArrayList<>();

  /**
   * One step of the script.
   *
   * @param title a description for people
   * @param event the event; empty for a malformed one
   */
  record Scene(String title, Optional<WorkloadChange> event) {}

  private DemoScript(ModelBundle model, InstantSource clock) {
    this.model = model;
    this.clock = clock;
    tables = MlperfTables.read();
    write();
  }

  /**
   * Returns all scenes.
   *
   * @param model cost model of the planned hardware
   */
  static List<Scene> scenes(ModelBundle model, InstantSource clock) {
    return List.copyOf(new DemoScript(model, clock).scenes);
  }

  private void write() {
    List<Change> first = new ArrayList<>();
    first.add(cluster(16));
    tables.forEach(table -> first.add(new TableUpserted(table)));
    publish(
        "26 tables of MLPerf DLRM-DCNv2 on 2 nodes of 8 devices, 24 GiB of each for tables", first);
    publish(
        "a table is added: user_history, 5 million rows, 20 lookups, 64 columns",
        List.of(table("user_history", 5_000_000, 64, 20)));
    publish(
        "cat_20 grows from 40 to 60 million rows",
        List.of(table("cat_20", 60_000_000, COLUMNS, 100)));
    publish(
        "cat_21: pooling factor rises from 27 to 60",
        List.of(table("cat_21", 40_000_000, COLUMNS, 60)));
    scenes.add(new Scene("a publisher sends bytes that are not an event", Optional.empty()));
    publish("cat_19 is dropped", List.of(new TableDropped("cat_19")));
    publish("a device is lost: 16 to 15", List.of(cluster(15)));
    publish(
        "cat_09 grows to 800 million rows, which does not fit",
        List.of(table("cat_09", 800_000_000, COLUMNS, 7)));
    publish(
        "cat_09 grows to 45 million rows instead",
        List.of(table("cat_09", 45_000_000, COLUMNS, 7)));
    publish("a node is added: 15 to 24 devices", List.of(cluster(24)));
    publish(
        "an event that expects generation 1, long superseded",
        OptionalLong.of(1),
        List.of(new TableDropped("cat_00")));
    publish(
        "four tables are added at once",
        List.of(
            table("item_tags", 800_000, 32, 40),
            table("item_seller", 2_000_000, 64, 1),
            table("user_country", 256, 16, 1),
            table("user_clicks", 10_000_000, COLUMNS, 50)));
    publish(
        "user_history and item_tags are dropped",
        List.of(new TableDropped("user_history"), new TableDropped("item_tags")));
  }

  private void publish(String title, List<Change> changes) {
    publish(title, OptionalLong.empty(), changes);
  }

  private void publish(String title, OptionalLong expectedGeneration, List<Change> changes) {
    scenes.add(
        new Scene(
            title,
            Optional.of(
                new WorkloadChange(
                    UUID.randomUUID(),
                    WORKLOAD,
                    clock.instant(),
                    SOURCE,
                    expectedGeneration,
                    changes))));
  }

  private ClusterSet cluster(int devices) {
    return new ClusterSet(
        new ClusterSpec(devices, MEMORY_BYTES, BATCH_SIZE, DEVICES_PER_NODE, model.hardware()));
  }

  private static TableUpserted table(String name, long rows, int columns, double poolingFactor) {
    return new TableUpserted(spec(name, rows, columns, poolingFactor));
  }

  private static TableSpec spec(String name, long rows, int columns, double poolingFactor) {
    return new TableSpec(
        name, rows, columns, poolingFactor, ReuseHistogram.UNKNOWN, BYTES_PER_ELEMENT);
  }
}
