package io.shardtide.bench.service;

import io.shardtide.cost.ModelBundle;
import io.shardtide.cost.ModelBundleBuilder;
import io.shardtide.models.ModelFiles;
import io.shardtide.plan.InfeasibleWorkload;
import io.shardtide.plan.SearchSettings;
import io.shardtide.plan.ShardingPlan;
import io.shardtide.search.GroupSearch;
import io.shardtide.search.GroupedProblem;
import io.shardtide.search.problem.SearchResult;
import io.shardtide.workload.AccessCdf;
import io.shardtide.workload.Change;
import io.shardtide.workload.ClusterSpec;
import io.shardtide.workload.ClusterSpecBuilder;
import io.shardtide.workload.Quarantine;
import io.shardtide.workload.RejectedEvent;
import io.shardtide.workload.ReuseHistogram;
import io.shardtide.workload.TableSpec;
import io.shardtide.workload.TableSpecBuilder;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.concurrent.CancellationException;
import java.util.concurrent.CountDownLatch;
import java.util.stream.IntStream;

/**
 * Workloads that harm a planner, one of each kind: a search that does not end, records with the id
 * of a schema that nobody registered, a table with very large predictions, and a model that takes
 * over and cannot predict the workload's cluster. Says what became of each. Thread-safe.
 */
final class PoisonedWorkloads {
  private static final String PREFIX = "poison_";
  private static final String SLOW = PREFIX + "slow_search";
  private static final String ODD_SCHEMA = PREFIX + "odd_schema";
  private static final String LARGE = PREFIX + "large_prediction";
  private static final String MODEL = PREFIX + "model";
  private static final List<String> ALL = List.of(SLOW, ODD_SCHEMA, LARGE, MODEL);

  /** Hardware of its own, so that its model predicts no other workload. */
  private static final String HARDWARE = "poisoned-hardware";

  /** No schema of a small registry has this id. */
  private static final int UNKNOWN_ID = 424_242;

  /** With these, the predictions of a table are more than a MiB. */
  private static final int LARGE_COLUMNS = 1_024;

  private static final long GIB = 1L << 30;
  private static final int BATCH_SIZE = 65_536;

  private final CountDownLatch end = new CountDownLatch(1);
  private final Map<String, String> outcomes = new TreeMap<>();
  private boolean tookOver;

  /** Returns a model of the poisoned hardware that can predict all clusters. */
  static ModelBundle model() {
    return ModelBundleBuilder.builder(ModelFiles.shippedForNodes())
        .modelId("")
        .hardware(HARDWARE)
        .build()
        .identified();
  }

  /** Searches; for the slow workload, waits for {@link #endSlowSearch} first. */
  SearchResult search(GroupedProblem problem, SearchSettings settings) {
    if (problem.tables().stream().anyMatch(table -> table.table().name().equals(SLOW))) {
      try {
        end.await();
      } catch (InterruptedException e) {
        Thread.currentThread().interrupt();
        throw new CancellationException("the planner closes");
      }
    }
    return GroupSearch.search(problem, settings);
  }

  /** Publishes all of them. */
  void publish(LoadPublisher publisher, int partitions) {
    ClusterSpec cluster =
        new ClusterSpec(8, 80 * GIB, BATCH_SIZE, 8, BenchmarkCluster.MODEL.hardware());
    publisher.publish(SLOW, List.of(new Change.ClusterSet(cluster), upsert(table(SLOW))));
    byte[] odd = ByteBuffer.allocate(7).put((byte) 0).putInt(UNKNOWN_ID).array();
    for (int partition = 0; partition < partitions; partition++) {
      publisher.publishBytes(partition, ODD_SCHEMA, odd);
    }
    publisher.publish(LARGE, large());
    ClusterSpec groups =
        ClusterSpecBuilder.builder(new ClusterSpec(16, 80 * GIB, BATCH_SIZE, 8, HARDWARE))
            .replicaGroups(List.of(2))
            .build();
    publisher.publish(MODEL, List.of(new Change.ClusterSet(groups), upsert(table("t"))));
  }

  /**
   * Lets a model take over that predicts no collectives of replica groups, once the workload with
   * groups is planned; before, its cluster would be rejected.
   */
  synchronized void takeOver(LoadPublisher publisher) {
    if (tookOver || !outcomes.containsKey(MODEL)) {
      return;
    }
    tookOver = true;
    publisher.publish(
        ModelBundleBuilder.builder(ModelFiles.shipped())
            .modelId("")
            .hardware(HARDWARE)
            .build()
            .identified());
  }

  /** An unpooled table on a cluster of nodes, groups and host memory, that is cut in many ways. */
  private static List<Change> large() {
    ClusterSpec cluster =
        ClusterSpecBuilder.builder(
                new ClusterSpec(
                    128, 80 * GIB, 4 * BATCH_SIZE, 8, BenchmarkCluster.MODEL.hardware()))
            .hostMemoryBytesPerDevice(200 * GIB)
            .replicaGroups(IntStream.range(0, 8).mapToObj(i -> 1 << i).toList())
            .build();
    long rows = 1L << 30;
    int size = AccessCdf.size(rows);
    List<Double> shares = new ArrayList<>();
    for (int i = 1; i <= size; i++) {
      shares.add((double) i / size);
    }
    TableSpec table =
        TableSpecBuilder.builder(
                new TableSpec(LARGE, rows, LARGE_COLUMNS, 20, ReuseHistogram.UNKNOWN, Float.BYTES))
            .accessCdf(new AccessCdf(shares))
            .pooled(false)
            .build();
    return List.of(new Change.ClusterSet(cluster), upsert(table));
  }

  private static TableSpec table(String name) {
    return new TableSpec(name, 1_000_000, 64, 5, ReuseHistogram.UNKNOWN, Float.BYTES);
  }

  private static Change upsert(TableSpec table) {
    return new Change.TableUpserted(table);
  }

  /** Lets the slow search go on. */
  void endSlowSearch() {
    end.countDown();
  }

  /** Returns whether a record of an output topic is of one of them; keeps what it says. */
  synchronized boolean onRecord(Object value) {
    Optional<String> id = Optional.empty();
    String outcome = "";
    if (value instanceof ShardingPlan plan) {
      id = Optional.of(plan.workloadId());
      outcome = "planned";
    } else if (value instanceof InfeasibleWorkload infeasible) {
      id = Optional.of(infeasible.workloadId());
      outcome = "infeasible";
    } else if (value instanceof RejectedEvent rejected) {
      id = rejected.workloadId();
      outcome = "rejected, " + rejected.reason();
    } else if (value instanceof Quarantine quarantine && quarantine.entered()) {
      id = Optional.of(quarantine.key());
      outcome = "in quarantine";
    }
    if (!id.orElse("").startsWith(PREFIX)) {
      return false;
    }
    outcomes.merge(
        id.get(),
        outcome,
        (before, next) -> before.endsWith(next) ? before : before + ", then " + next);
    return true;
  }

  /** Returns what became of each so far. */
  synchronized Map<String, String> outcomes() {
    Map<String, String> all = new TreeMap<>();
    ALL.forEach(id -> all.put(id, outcomes.getOrDefault(id, "")));
    return all;
  }

  /** Returns whether it is decided what becomes of each. */
  synchronized boolean areDecided() {
    return outcomes.keySet().containsAll(ALL) && outcomes.get(MODEL).contains("quarantine");
  }
}
