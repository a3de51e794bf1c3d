package io.shardtide.testing;

import static org.assertj.core.api.Assertions.assertThat;

import io.shardtide.cost.CostModel;
import io.shardtide.cost.StepCost;
import io.shardtide.cost.TablePrediction;
import io.shardtide.learn.FeedbackTables;
import io.shardtide.plan.DeviceCost;
import io.shardtide.plan.PlanShards;
import io.shardtide.plan.Shard;
import io.shardtide.search.problem.SearchProblem;
import io.shardtide.search.problem.SearchResult;
import io.shardtide.state.AcceptedStatus;
import io.shardtide.step.MemoryKeyValues;
import io.shardtide.workload.CanonicalHash;
import io.shardtide.workload.ClusterSpec;
import io.shardtide.workload.TableSpec;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.Random;

/** Problems, and what must hold for every plan. */
public final class Plans {
  private Plans() {}

  /** A shard with another cache. */
  public static Shard cached(Shard shard, OptionalDouble share) {
    return new Shard(
        shard.table(),
        shard.region(),
        shard.device(),
        shard.kind(),
        share,
        shard.deduplicated(),
        shard.rowOrder());
  }

  /** Tables of feedback in memory, of what planning accepted of each workload. */
  public static FeedbackTables feedbackTables(Map<String, AcceptedStatus> accepted) {
    return new FeedbackTables(
        new MemoryKeyValues<>(),
        new MemoryKeyValues<>(),
        new MemoryKeyValues<>(),
        new MemoryKeyValues<>(),
        id -> Optional.ofNullable(accepted.get(id)));
  }

  /** A problem without a running plan, predicted by a model of columns. */
  public static SearchProblem problem(List<TableSpec> tables, ClusterSpec cluster) {
    return problem(tables, cluster, List.of());
  }

  public static SearchProblem problem(
      List<TableSpec> tables, ClusterSpec cluster, List<Shard> running) {
    return problem(TestModels.model(), tables, cluster, running);
  }

  public static SearchProblem problem(
      CostModel model, List<TableSpec> tables, ClusterSpec cluster, List<Shard> running) {
    try (PlainTowers towers = new PlainTowers(model.bundle())) {
      return new SearchProblem(
          towers.predict(tables, cluster.batchSize()), cluster, model, placed(running));
    }
  }

  /** Tables of 4 to 128 columns, 100 to 10 million rows, 1 to 100 lookups. */
  public static List<TableSpec> randomTables(Random random, int count) {
    List<TableSpec> tables = new ArrayList<>();
    for (int i = 0; i < count; i++) {
      tables.add(randomTable(random, "t%03d".formatted(i)));
    }
    return tables;
  }

  public static TableSpec randomTable(Random random, String name) {
    return Fixtures.table(
        name,
        1 + (long) Math.pow(10, 2 + 5 * random.nextDouble()),
        4 * (1 + random.nextInt(32)),
        Math.pow(10, 2 * random.nextDouble()));
  }

  /** The all-to-all load of devices that hold so many columns each. */
  public static double[] elements(int[] columns, int batchSize) {
    return Arrays.stream(columns).mapToDouble(c -> (double) c * batchSize).toArray();
  }

  /** Returns a hash over everything that a search found, by the bits of its numbers. */
  public static String digest(SearchResult result) {
    CanonicalHash hash = new CanonicalHash("SearchResult").put(result.evaluations());
    if (result instanceof SearchResult.Found found) {
      hash.put(found.predictedMs());
      hash.putAll(
          found.shards(),
          shard -> {
            hash.put(shard.table())
                .put(shard.columnOffset())
                .put(shard.columns())
                .put(shard.device());
            shard.cacheShare().ifPresent(share -> hash.put(share));
          });
      hash.putAll(found.deviceCosts(), cost -> hash.put(cost.totalMs()).put(cost.memoryBytes()));
      found
          .insight()
          .ifPresent(
              insight -> {
                hash.put(insight.lowerBoundMs())
                    .put(insight.bottleneck().device())
                    .put(insight.bottleneck().cause().name())
                    .put(insight.bottleneck().table())
                    .put(insight.bottleneck().gainMs());
                hash.putAll(
                    insight.explanations(),
                    explanation ->
                        hash.put(explanation.kind().name())
                            .put(explanation.table())
                            .put(explanation.fromDevice())
                            .put(explanation.toDevice())
                            .put(explanation.cause().name())
                            .put(explanation.gainMs()));
              });
    } else if (result instanceof SearchResult.NotFound notFound) {
      hash.put(notFound.shortfall().bytesShort()).put(notFound.shortfall().message());
    }
    return CanonicalHash.shown(hash.hex());
  }

  /** Every column of every table once, no device over its memory, and the cost from scratch. */
  public static void check(SearchProblem problem, SearchResult.Found found) {
    ClusterSpec cluster = problem.cluster();
    int devices = cluster.devices();
    StepCost cost = StepCosts.of(problem.tables(), found.shards(), cluster, problem.model());
    long[] bytes = new long[devices];
    for (TablePrediction prediction : problem.tables()) {
      TableSpec table = prediction.table();
      int next = 0;
      for (Shard shard : found.shards()) {
        if (shard.table().equals(table.name())) {
          assertThat(shard.columnOffset()).isEqualTo(next);
          assertThat(shard.columns() % 4).isZero();
          assertThat(shard.rows()).isEqualTo(table.rows());
          next += shard.columns();
          bytes[shard.device()] += table.bytes(shard.columns());
        }
      }
      assertThat(next).as(table.name()).isEqualTo(table.columns());
    }
    for (int d = 0; d < devices; d++) {
      assertThat(bytes[d]).isLessThanOrEqualTo(cluster.memoryBytesPerDevice());
    }
    assertThat(found.predictedMs()).isEqualTo(cost.predictedMs());
    assertThat(found.deviceCosts()).hasSize(devices);
    for (int d = 0; d < devices; d++) {
      assertThat(found.deviceCosts().get(d))
          .isEqualTo(
              new DeviceCost(
                  cost.computeMs()[d],
                  cost.forwardCommMs()[d],
                  cost.backwardCommMs()[d],
                  bytes[d],
                  0));
    }
    List<String> names = problem.tables().stream().map(t -> t.table().name()).toList();
    if (names.equals(names.stream().sorted().toList())) {
      assertThat(found.shards()).isSortedAccordingTo(Shard.ORDER);
    }
    assertThat(found.evaluations()).isPositive();
  }

  /** Returns shards and as many devices as they name. */
  public static PlanShards placed(List<Shard> shards) {
    return new PlanShards(shards, 1 + shards.stream().mapToInt(Shard::device).max().orElse(-1));
  }

  /** Returns shards as if they got all ids, and rows were in no order. */
  public static List<Shard> withAllIds(List<Shard> shards) {
    return shards.stream()
        .map(s -> new Shard(s.table(), s.region(), s.device(), s.kind(), s.cacheShare()))
        .toList();
  }
}
