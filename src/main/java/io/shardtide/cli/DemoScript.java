package io.shardtide.cli;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.shardtide.cost.ModelBundle;
import io.shardtide.domain.Change;
import io.shardtide.domain.Change.ClusterSet;
import io.shardtide.domain.Change.TableDropped;
import io.shardtide.domain.Change.TableUpserted;
import io.shardtide.domain.ClusterSpec;
import io.shardtide.domain.ReuseHistogram;
import io.shardtide.domain.TableSpec;
import io.shardtide.domain.WorkloadChange;
import io.shardtide.trainer.MeasuredReuse;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
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

  /** The workload that the reference trainer trains on this machine. */
  static final String TRAINED = "dlrm-on-this-machine";

  private static final String TABLES = "/demo/mlperf_dcnv2.json";
  private static final int COLUMNS = 128;
  private static final double BYTES_PER_ELEMENT = 4;
  private static final int BATCH_SIZE = 65_536;
  private static final int DEVICES_PER_NODE = 8;
  private static final long GIB = 1L << 30;
  private static final long MEMORY_BYTES = 24 * GIB;

  /** Factor by which trained tables are scaled down: 204 million rows become 408,000. */
  private static final int SCALE_DOWN = 500;

  private static final int MIN_ROWS = 100;
  private static final int TRAINED_COLUMNS = 32;
  private static final long TRAINED_MEMORY_BYTES = GIB / 4;

  private final ModelBundle model;
  private final ModelBundle machine;
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

  private DemoScript(ModelBundle model, ModelBundle machine, InstantSource clock) {
    this.model = model;
    this.machine = machine;
    this.clock = clock;
    tables = readTables();
    write();
    train();
  }

  /**
   * Returns all scenes.
   *
   * @param model cost model of the planned hardware
   * @param machine cost model of this machine, for the scenes that are trained
   */
  static List<Scene> scenes(ModelBundle model, ModelBundle machine, InstantSource clock) {
    return List.copyOf(new DemoScript(model, machine, clock).scenes);
  }

  private void train() {
    List<Change> first = new ArrayList<>();
    first.add(threads(3));
    tables.forEach(
        table -> first.add(scaledDown(table.name(), table.rows(), table.poolingFactor())));
    trained(
        "the same tables, %d times smaller, really trained on 3 threads".formatted(SCALE_DOWN),
        first);
    trained(
        "cat_21: pooling factor rises from 27 to 60",
        List.of(scaledDown("cat_21", 40_000_000, 60)));
    trained("a thread is lost: 3 to 2", List.of(threads(2)));
  }

  /** Returns a scaled-down table with the reuse histogram of its generated batches. */
  private TableUpserted scaledDown(String name, long rows, double poolingFactor) {
    return new TableUpserted(
        MeasuredReuse.of(
            spec(name, Math.max(MIN_ROWS, rows / SCALE_DOWN), TRAINED_COLUMNS, poolingFactor),
            machine.largestBatch(),
            1));
  }

  private ClusterSet threads(int devices) {
    return new ClusterSet(
        new ClusterSpec(
            devices, TRAINED_MEMORY_BYTES, machine.largestBatch(), devices, machine.hardware()));
  }

  private void trained(String title, List<Change> changes) {
    scenes.add(scene(TRAINED, title, OptionalLong.empty(), changes));
  }

  private void write() {
    List<Change> first = new ArrayList<>();
    first.add(cluster(16));
    tables.forEach(table -> first.add(new TableUpserted(table)));
    publish("26 tables of MLPerf DLRM-DCNv2 on 2 nodes of 8 devices of 24 GiB", first);
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
    scenes.add(scene(WORKLOAD, title, expectedGeneration, changes));
  }

  private Scene scene(
      String workload, String title, OptionalLong expectedGeneration, List<Change> changes) {
    return new Scene(
        title,
        Optional.of(
            new WorkloadChange(
                UUID.randomUUID(),
                workload,
                clock.instant(),
                "demo",
                expectedGeneration,
                changes)));
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

  private static List<TableSpec> readTables() {
    try (InputStream in = DemoScript.class.getResourceAsStream(TABLES)) {
      JsonNode root = new ObjectMapper().readTree(in);
      List<TableSpec> read = new ArrayList<>();
      for (int i = 0; i < root.get("rows").size(); i++) {
        read.add(
            spec(
                "cat_%02d".formatted(i),
                root.get("rows").get(i).longValue(),
                COLUMNS,
                root.get("multi_hot").get(i).doubleValue()));
      }
      return read;
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }
}
