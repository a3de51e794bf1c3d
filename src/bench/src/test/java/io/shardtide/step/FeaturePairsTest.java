package io.shardtide.step;

import static io.shardtide.wire.TopicType.COST_PREDICTIONS;
import static io.shardtide.wire.TopicType.DEVICE_SPEEDS;
import static io.shardtide.wire.TopicType.INFEASIBLE_WORKLOADS;
import static io.shardtide.wire.TopicType.MEASURED_COSTS;
import static io.shardtide.wire.TopicType.SHARDING_PLANS;
import static io.shardtide.wire.TopicType.WORKLOAD_CHANGES;
import static org.assertj.core.api.Assertions.assertThat;

import io.shardtide.cost.CommunicationCost;
import io.shardtide.cost.CostModel;
import io.shardtide.cost.CostPredictions;
import io.shardtide.cost.ModelBundle;
import io.shardtide.cost.ModelBundleBuilder;
import io.shardtide.cost.Slowdowns;
import io.shardtide.cost.StepCollectives;
import io.shardtide.cost.StepCost;
import io.shardtide.cost.TablePrediction;
import io.shardtide.cost.VersionedPrediction;
import io.shardtide.learn.FeedbackStep;
import io.shardtide.learn.FeedbackTables;
import io.shardtide.models.ModelFiles;
import io.shardtide.plan.CostPart;
import io.shardtide.plan.DeviceSpeed;
import io.shardtide.plan.DeviceSpeeds;
import io.shardtide.plan.HotRows;
import io.shardtide.plan.MeasuredCosts;
import io.shardtide.plan.MeasuredCostsBuilder;
import io.shardtide.plan.MeasuredDevice;
import io.shardtide.plan.PlanShards;
import io.shardtide.plan.PlanStatus;
import io.shardtide.plan.Region;
import io.shardtide.plan.Shard;
import io.shardtide.plan.Sharding;
import io.shardtide.plan.ShardingPlan;
import io.shardtide.plan.Transfer;
import io.shardtide.replay.Replay;
import io.shardtide.replay.ReplayResult;
import io.shardtide.replay.ReplayScope;
import io.shardtide.state.AcceptedStatus;
import io.shardtide.state.PlanningSettings;
import io.shardtide.testing.Fixtures;
import io.shardtide.testing.MemoryRecords;
import io.shardtide.testing.PlainPredictors;
import io.shardtide.testing.PlainTowers;
import io.shardtide.testing.Plans;
import io.shardtide.testing.ShuffledTables;
import io.shardtide.wire.Codec;
import io.shardtide.wire.Topic;
import io.shardtide.wire.TopicType;
import io.shardtide.wire.Topics;
import io.shardtide.workload.Change;
import io.shardtide.workload.ClusterSpec;
import io.shardtide.workload.ClusterSpecBuilder;
import io.shardtide.workload.CommCodec;
import io.shardtide.workload.Direction;
import io.shardtide.workload.HashedStorage;
import io.shardtide.workload.Named;
import io.shardtide.workload.Optimizer;
import io.shardtide.workload.RejectedException;
import io.shardtide.workload.ReplicaGroups;
import io.shardtide.workload.ShardKind;
import io.shardtide.workload.TableConstraints;
import io.shardtide.workload.TableSpec;
import io.shardtide.workload.TableSpecBuilder;
import io.shardtide.workload.TrainingPipeline;
import io.shardtide.workload.WorkloadChange;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.EnumSet;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.Random;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.UUID;
import java.util.stream.IntStream;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import org.apache.avro.io.BinaryEncoder;
import org.apache.avro.io.DecoderFactory;
import org.apache.avro.io.EncoderFactory;
import org.apache.avro.specific.SpecificData;
import org.apache.avro.specific.SpecificDatumReader;
import org.apache.avro.specific.SpecificDatumWriter;
import org.apache.avro.specific.SpecificRecord;
import org.junit.jupiter.api.Test;

/**
 * Features meet each other: random clusters (nodes, replica groups, host memory, codecs, slow
 * devices) with random tables (pooled or not, constraints, hot rows, caches) and random changes,
 * all at once. After each step, what is stored, planned and published is compared with the same
 * from scratch.
 */
class FeaturePairsTest {
  private static final ModelBundle BUNDLE = ModelFiles.shippedForNodes();
  private static final ModelBundle OTHER =
      ModelBundleBuilder.builder(BUNDLE)
          .modelId("")
          .forwardCoefficients(BUNDLE.forwardCoefficients().stream().map(c -> 1.3 * c).toList())
          .build()
          .identified();
  private static final Topics TOPICS = Topics.withPrefix("");
  private static final List<ShardKind> KINDS = List.of(ShardKind.values());
  private static final int STEPS = 9;

  /** More than it takes to tell a slow device from noise. */
  private static final int REPORTS = 24;

  private static final PlanningSettings SETTINGS =
      new PlanningSettings(
          Duration.ZERO,
          Duration.ZERO,
          Fixtures.settings(20, 100, 10, 0.1, 0, 1_000),
          Optional.of(Fixtures.settings(30, 300, 10, 0.1, 0, 1_000)),
          Duration.ZERO,
          0,
          0);

  /** One workload, its planner and its trainer. */
  private static final class Life {
    final Random random;
    final PlainPredictors models = new PlainPredictors();
    final Workloads workloads = Workloads.inMemory();
    final PlanningTables plans;
    final Map<String, AcceptedStatus> accepted = new TreeMap<>();
    final FeedbackTables feedback = Plans.feedbackTables(accepted);
    final WorkloadStep predicting = new WorkloadStep(models);
    final PlanningStep planning;
    final FeedbackStep measuring = new FeedbackStep(model -> false);
    final MemoryRecords records = new MemoryRecords();
    final Map<String, Integer> seen = new TreeMap<>();
    ClusterSpec cluster;
    ModelBundle bundle = BUNDLE;
    ShardingPlan running;
    List<DeviceSpeed> slow = List.of();
    int failures;
    long time;

    Life(long seed) {
      random = new Random(seed);
      plans = ShuffledTables.planning(seed);
      InstantSource clock = () -> Fixtures.TIME.plusMillis(time++);
      planning = new PlanningStep(models, SETTINGS, new Planner(clock, () -> 0));
      models.takeOver(BUNDLE);
      records.add(BUNDLE);
      records.add(OTHER);
      cluster = cluster(random);
      List<Change> changes = new ArrayList<>(List.of(new Change.ClusterSet(cluster)));
      for (int t = 0; t < 4 + random.nextInt(6); t++) {
        changes.add(new Change.TableUpserted(table(random, "t" + t)));
      }
      apply(changes);
      plan();
    }

    void live() {
      for (int step = 0; step < STEPS; step++) {
        switch (random.nextInt(9)) {
          case 0 -> apply(List.of(new Change.TableUpserted(table(random, name()))));
          case 1 -> resize();
          case 2, 3 -> {
            cluster = changed(random, cluster);
            apply(List.of(new Change.ClusterSet(cluster)));
          }
          case 4 -> {
            if (workloads.tables().range(Fixtures.WORKLOAD).size() > 1) {
              apply(
                  List.of(
                      new Change.TableDropped(
                          workloads.tables().range(Fixtures.WORKLOAD).firstKey())));
            }
          }
          case 5 -> takeOver();
          case 6 -> search();
          default -> {
            measure();
            // Ranks have other positions then.
            cluster =
                ClusterSpecBuilder.builder(cluster).replicaGroups(groups(random, cluster)).build();
            apply(List.of(new Change.ClusterSet(cluster)));
          }
        }
        plan();
      }
    }

    /** Resizes a hashed table, which becomes one if there is none. */
    private void resize() {
      String name =
          workloads.tables().range(Fixtures.WORKLOAD).values().stream()
              .filter(table -> table.storage().isPresent())
              .map(TableSpec::name)
              .findFirst()
              .orElse("hashed");
      if (name.equals("hashed")) {
        apply(List.of(new Change.TableUpserted(Fixtures.hashed(name, 10_000, 64, 5))));
      }
      long rows = 1L + random.nextInt(1_000_000);
      apply(List.of(Fixtures.resize(name, rows, "as drawn")));
      assertThat(workloads.tables().get(Fixtures.WORKLOAD, name).get().rows()).isEqualTo(rows);
    }

    private String name() {
      return "t" + random.nextInt(12);
    }

    private void apply(List<Change> changes) {
      WorkloadChange event =
          new WorkloadChange(
              new UUID(random.nextLong(), random.nextLong()),
              Fixtures.WORKLOAD,
              Fixtures.TIME.plusMillis(time++),
              "test",
              OptionalLong.empty(),
              changes);
      event = read(TOPICS.of(WORKLOAD_CHANGES), Codec.WORKLOAD_CHANGE, event);
      records.add(TopicType.WORKLOAD_CHANGES, event);
      onPredictions(
          predicting.apply(
              workloads, Fixtures.at(records.all(TopicType.WORKLOAD_CHANGES).size()), event));
    }

    private void onPredictions(List<CostPredictions> parts) {
      for (CostPredictions part : parts) {
        CostPredictions read = read(TOPICS.of(COST_PREDICTIONS), Codec.COST_PREDICTIONS, part);
        records.add(TopicType.COST_PREDICTIONS, read);
        planning.onPredictions(plans, read);
        measuring.onPredictions(feedback, read);
      }
      checkPredictions();
    }

    /** What is stored of each table is what the model says of it on the cluster of now. */
    private void checkPredictions() {
      PlainTowers towers = new PlainTowers(bundle);
      List<VersionedPrediction> stored =
          plans.tables().range(Fixtures.WORKLOAD).values().stream()
              .sorted(Comparator.comparing(t -> t.prediction().table().name()))
              .toList();
      List<TableSpec> tables =
          workloads.tables().range(Fixtures.WORKLOAD).values().stream()
              .map(table -> table.withDefaultOptimizer(cluster.optimizer()))
              .toList();
      assertThat(stored)
          .extracting(of -> of.prediction().table())
          .containsExactlyElementsOf(tables);
      List<TablePrediction> expected = towers.predict(tables, cluster);
      for (int t = 0; t < tables.size(); t++) {
        VersionedPrediction of = new VersionedPrediction(expected.get(t), stored.get(t).since());
        assertThat(Codec.DATED_PREDICTION.toAvro().apply(stored.get(t)))
            .as("predictions of table %s on %s", tables.get(t).name(), cluster)
            .isEqualTo(Codec.DATED_PREDICTION.toAvro().apply(of));
      }
    }

    private void plan() {
      planning.plan(plans, Fixtures.WORKLOAD).ifPresent(this::publish);
    }

    private void publish(PlanningOutcome outcome) {
      if (outcome instanceof PlanningOutcome.Failed failed) {
        throw new AssertionError(failed.error());
      } else if (outcome instanceof PlanningOutcome.Infeasible infeasible) {
        records.add(
            TopicType.INFEASIBLE_WORKLOADS,
            read(
                TOPICS.of(INFEASIBLE_WORKLOADS), Codec.INFEASIBLE_WORKLOAD, infeasible.workload()));
        failures++;
      } else if (outcome instanceof PlanningOutcome.Planned planned) {
        ShardingPlan plan = read(TOPICS.of(SHARDING_PLANS), Codec.SHARDING_PLAN, planned.plan());
        assertThat(plan.identified().planId()).isEqualTo(planned.plan().planId());
        records.add(TopicType.SHARDING_PLANS, plan);
        check(plan);
        measuring.onPlan(feedback, plan);
        if (running == null || random.nextInt(4) > 0) {
          adopt(plan);
        }
      }
      store(Codec.PLANNING_HEADER, plans.header(Fixtures.WORKLOAD));
      store(Codec.FEEDBACK_HEADER, feedback.header(Fixtures.WORKLOAD));
      store(Codec.WORKLOAD_HEADER, workloads.header(Fixtures.WORKLOAD));
    }

    private void adopt(ShardingPlan plan) {
      PlanStatus status =
          new PlanStatus(
              Fixtures.WORKLOAD,
              plan.planId(),
              PlanStatus.StatusKind.ADOPTED,
              time++,
              Optional.empty(),
              "trainer",
              "run",
              Fixtures.TIME,
              1,
              1);
      accepted.put(Fixtures.WORKLOAD, planning.report(plans, status));
      running = plan;
    }

    private void search() {
      planning
          .backgroundSearch(plans, Fixtures.WORKLOAD)
          .flatMap(task -> planning.finish(plans, task, planning.search(task)))
          .ifPresent(this::publish);
    }

    private void takeOver() {
      bundle = bundle.modelId().equals(BUNDLE.modelId()) ? OTHER : BUNDLE;
      models.takeOver(bundle);
      onPredictions(predicting.repredict(workloads, Fixtures.WORKLOAD, part -> {}));
    }

    /** Reports until the planner has heard of slow devices, or for a while. */
    private void measure() {
      if (running == null) {
        return;
      }
      slow = slow(random, running.ranks());
      for (int report = 0; report < REPORTS; report++) {
        try {
          measuring
              .measure(feedback, read(TOPICS.of(MEASURED_COSTS), Codec.MEASURED_COSTS, measured()))
              .speeds()
              .ifPresent(
                  speeds -> {
                    DeviceSpeeds read = read(TOPICS.of(DEVICE_SPEEDS), Codec.DEVICE_SPEEDS, speeds);
                    records.add(TopicType.DEVICE_SPEEDS, read);
                    planning.onSpeeds(plans, read);
                  });
        } catch (RejectedException e) {
          // A measurement of a plan that changes have overtaken.
          return;
        }
      }
    }

    /** What the running plan was predicted to take, with devices that are slow. */
    private MeasuredCosts measured() {
      int devices = running.ranks() / running.groups().count();
      Slowdowns slowdowns = Slowdowns.of(slow, running.placed());
      double[] computeMs = new double[devices];
      double[] forwardMs = new double[devices];
      double[] backwardMs = new double[devices];
      var healthy =
          Slowdowns.of(running.origin().slow(), running.placed())
              .healthy(running.prediction().deviceCosts());
      double lastStartMs = 0;
      for (var cost : healthy) {
        lastStartMs = Math.max(lastStartMs, cost.computeMs() + cost.backwardCommMs());
      }
      for (int d = 0; d < devices; d++) {
        var cost = healthy.get(d);
        double idleMs = lastStartMs - cost.computeMs() - cost.backwardCommMs();
        double noise = 1 + 0.01 * random.nextGaussian();
        computeMs[d] = noise * slowdowns.computeMs(d, cost.computeMs());
        forwardMs[d] = noise * slowdowns.communicationMs(d, cost.forwardCommMs() - idleMs);
        backwardMs[d] = noise * slowdowns.communicationMs(d, cost.backwardCommMs());
      }
      StepCost step = StepCost.of(computeMs, new CommunicationCost(forwardMs, backwardMs));
      List<MeasuredDevice> costs = new ArrayList<>();
      for (int d = 0; d < devices; d++) {
        costs.add(new MeasuredDevice(computeMs[d], step.forwardCommMs()[d], backwardMs[d]));
      }
      Instant now = Fixtures.TIME.plusSeconds(time++);
      return MeasuredCostsBuilder.builder()
          .measurementId("m" + time)
          .workloadId(Fixtures.WORKLOAD)
          .planId(running.planId())
          .run("run")
          .step(time)
          .steps(10)
          .devices(costs)
          .collectives(List.of())
          .source("trainer")
          .measuredAt(now)
          .build();
    }

    private void check(ShardingPlan plan) {
      ReplicaGroups groups = plan.groups();
      assertThat(cluster.groupings()).contains(groups);
      ClusterSpec group = cluster.group(groups);
      List<TablePrediction> predictions =
          plans.tables().range(Fixtures.WORKLOAD).values().stream()
              .map(VersionedPrediction::prediction)
              .sorted(Comparator.comparing(of -> of.table().name()))
              .toList();
      Map<String, TableSpec> tables =
          TableSpec.byName(predictions.stream().map(TablePrediction::table).toList());
      checkShards(plan, group, tables);
      checkCost(plan, group, groups, predictions);
      plan.origin()
          .previousPlanId()
          .ifPresent(
              id -> {
                ShardingPlan before =
                    records.all(TopicType.SHARDING_PLANS).stream()
                        .filter(p -> p.planId().equals(id))
                        .findFirst()
                        .orElseThrow();
                checkMoves(before.placed(), plan, tables);
              });
      count("groups", groups.areSeveral());
      count("codecs", !plan.codecs().isEmpty());
      count("hot rows", !HotRows.byTable(plan.shards()).isEmpty());
      count("caches", plan.shards().stream().anyMatch(s -> s.cacheShare().isPresent()));
      count("slow devices", !plan.origin().slow().isEmpty());
      count("groups and slow devices", groups.areSeveral() && !plan.origin().slow().isEmpty());
      count("groups and codecs", groups.areSeveral() && !plan.codecs().isEmpty());
    }

    private void count(String feature, boolean is) {
      seen.merge(feature, is ? 1 : 0, Integer::sum);
    }

    private static void checkShards(
        ShardingPlan plan, ClusterSpec group, Map<String, TableSpec> tables) {
      long[] bytes = new long[group.devices()];
      long[] hostBytes = new long[group.devices()];
      for (TableSpec table : tables.values()) {
        List<Shard> shards =
            plan.shards().stream().filter(s -> s.table().equals(table.name())).toList();
        Shard other = HotRows.others(shards).get(0);
        assertThat(Sharding.of(table, Plans.withAllIds(shards), group).shards(table, group))
            .extracting(
                shard -> shard.isCopied() ? shard : other.at(shard.region(), shard.device()))
            .isEqualTo(shards);
        assertThat(shards).allMatch(shard -> table.constraints().allows(shard.kind()));
        for (Shard shard : shards) {
          shard
              .holders(group.devices())
              .forEach(
                  d -> {
                    long whole = shard.region().bytes(table);
                    if (shard.cacheShare().isEmpty()) {
                      bytes[d] += whole;
                      return;
                    }
                    long beside = besideCache(table, shard, group);
                    double cached = shard.cacheShare().getAsDouble() * cached(table, shard);
                    bytes[d] += (long) Math.ceil(cached) + beside;
                    hostBytes[d] += whole - beside;
                  });
        }
      }
      for (int d = 0; d < bytes.length; d++) {
        assertThat(bytes[d])
            .as("memory of device %s with %s", d, plan.shards())
            .isLessThanOrEqualTo(group.usableMemory().bytes(d));
        assertThat(hostBytes[d])
            .as("host memory of device %s with %s", d, plan.shards())
            .isLessThanOrEqualTo(group.hostMemoryBytesPerDevice());
      }
    }

    /** All but keys and the state of a named optimizer, which no cache holds. */
    private static long cached(TableSpec table, Shard shard) {
      return shard.region().bytes(table)
          - keyBytes(table, shard)
          - stateBytes(table, shard, table.stateBytesPerElement());
    }

    /** What device memory holds beside a cache, as TorchRec estimates it or as FBGEMM allocates. */
    private static long besideCache(TableSpec table, Shard shard, ClusterSpec group) {
      long keys = keyBytes(table, shard);
      double ofElement = table.stateBytesPerElement();
      if (group.pipeline().isEmpty()) {
        return table.enforceHbm() ? keys + stateBytes(table, shard, ofElement) : keys;
      }
      // Of state in elements, the first moment at most.
      return keys + stateBytes(table, shard, table.enforceHbm() ? Math.min(ofElement, 4) : 0);
    }

    private static long keyBytes(TableSpec table, Shard shard) {
      return (long)
          Math.ceil(shard.rows() * table.storage().map(HashedStorage::slotBytes).orElse(0.0));
    }

    private static long stateBytes(TableSpec table, Shard shard, double ofElement) {
      double ofRow = shard.columns() * ofElement + table.stateBytesPerRow();
      return table.optimizer().isPresent() ? (long) Math.ceil(shard.rows() * ofRow) : 0;
    }

    private void checkCost(
        ShardingPlan plan,
        ClusterSpec group,
        ReplicaGroups groups,
        List<TablePrediction> predictions) {
      StepCost cost =
          StepCost.of(
              predictions.stream().flatMap(of -> of.inGroup(groups).stream()).toList(),
              plan.shards(),
              StepCollectives.of(group, plan),
              new CostModel(bundle),
              Slowdowns.of(plan.origin().slow(), plan.placed()));
      assertThat(plan.predictedMs())
          .as("predicted step of %s", plan)
          .isEqualTo(cost.predictedMs() + plan.replication().msPerStep());
      for (int d = 0; d < group.devices(); d++) {
        assertThat(plan.prediction().deviceCosts().get(d).computeMs())
            .isEqualTo(cost.computeMs()[d]);
      }
      assertThat(plan.prediction().insight().lowerBoundMs())
          .isLessThanOrEqualTo(plan.predictedMs());
      assertThat(plan.origin().slow()).allMatch(of -> of.device() < cluster.devices());
    }

    /** Elements that a rank holds after and not before, of those that any rank held before. */
    private static void checkMoves(
        PlanShards before, ShardingPlan plan, Map<String, TableSpec> tables) {
      PlanShards after = plan.placed();
      Map<String, Double> expected = new TreeMap<>();
      for (TableSpec table : tables.values()) {
        double elements = received(table.name(), before, after);
        if (elements > 0) {
          expected.put(table.name(), elements);
        }
      }
      Map<String, Double> moved = new TreeMap<>();
      for (Transfer move : plan.transition().moves()) {
        int receivers = move.overlap().receivers(after.devices(), after.ranks());
        if (receivers > 0) {
          moved.merge(move.table(), receivers * Fixtures.elements(move.region()), Double::sum);
        }
      }
      if (before.groups().equals(after.groups()) && before.ranks() == after.ranks()) {
        assertThat(moved).as("moves from %s to %s", before, after).isEqualTo(expected);
      }
      assertThat(moved.keySet()).containsAll(expected.keySet());
    }

    private static double received(String table, PlanShards before, PlanShards after) {
      TreeSet<Long> rows = new TreeSet<>();
      TreeSet<Integer> columns = new TreeSet<>();
      for (PlanShards plan : List.of(before, after)) {
        for (Shard shard : plan.shards()) {
          if (shard.table().equals(table)) {
            Region region = shard.region();
            rows.addAll(List.of(region.rowOffset(), region.rowEnd()));
            columns.addAll(List.of(region.columnOffset(), region.columnEnd()));
          }
        }
      }
      double elements = 0;
      Long fromRow = null;
      for (long row : rows) {
        if (fromRow != null) {
          Integer fromColumn = null;
          for (int column : columns) {
            if (fromColumn != null) {
              Set<Integer> had = holders(table, before, fromRow, fromColumn);
              Set<Integer> have = holders(table, after, fromRow, fromColumn);
              if (!had.isEmpty()) {
                have.removeAll(had);
                elements += (double) (row - fromRow) * (column - fromColumn) * have.size();
              }
            }
            fromColumn = column;
          }
        }
        fromRow = row;
      }
      return elements;
    }

    private static Set<Integer> holders(String table, PlanShards plan, long row, int column) {
      Set<Integer> ranks = new TreeSet<>();
      for (Shard shard : plan.shards()) {
        Region region = shard.region();
        if (shard.table().equals(table)
            && region.rowOffset() <= row
            && row < region.rowEnd()
            && region.columnOffset() <= column
            && column < region.columnEnd()) {
          shard
              .holders(plan.devices())
              .forEach(
                  d ->
                      IntStream.range(0, plan.groups().count())
                          .forEach(group -> ranks.add(plan.rank(d, group))));
        }
      }
      return ranks;
    }

    private static <V, A extends SpecificRecord> V store(Codec<V, A> codec, V value) {
      return decode(codec, encode(codec, value));
    }

    /** Returns what is read again of a value that is written, which fits its topic. */
    private static <V, A extends SpecificRecord> V read(
        Topic<V> topic, Codec<V, A> codec, V value) {
      byte[] bytes = encode(codec, value);
      assertThat(bytes.length).as(topic.name()).isLessThan(topic.maxMessageBytes());
      return decode(codec, bytes);
    }

    private static <V, A extends SpecificRecord> byte[] encode(Codec<V, A> codec, V value) {
      try {
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        BinaryEncoder encoder = EncoderFactory.get().binaryEncoder(out, null);
        new SpecificDatumWriter<A>(codec.schema(), SpecificData.getForClass(codec.avroType()))
            .write(codec.toAvro().apply(value), encoder);
        encoder.flush();
        return out.toByteArray();
      } catch (IOException e) {
        throw new UncheckedIOException(e);
      }
    }

    private static <V, A extends SpecificRecord> V decode(Codec<V, A> codec, byte[] bytes) {
      try {
        return codec
            .fromAvro()
            .apply(
                new SpecificDatumReader<A>(
                        codec.schema(), codec.schema(), SpecificData.getForClass(codec.avroType()))
                    .read(null, DecoderFactory.get().binaryDecoder(bytes, null)));
      } catch (IOException e) {
        throw new UncheckedIOException(e);
      }
    }

    void checkReplay() throws IOException {
      ReplayResult result =
          new Replay(
                  records, ReplayScope.ALL, records.models(), PlainTowers::new, (plans, of) -> {})
              .run(true);
      assertThat(result.problems()).isEmpty();
      assertThat(result.first()).isEmpty();
      assertThat(result.plans())
          .extracting(ShardingPlan::planId)
          .containsExactlyElementsOf(
              records.all(TopicType.SHARDING_PLANS).stream().map(ShardingPlan::planId).toList());
    }
  }

  private static ClusterSpec cluster(Random random) {
    int perNode = 1 << random.nextInt(3);
    int devices = Math.max(1, perNode * (1 + random.nextInt(4)) - (random.nextInt(8) == 0 ? 1 : 0));
    return options(
        random, new ClusterSpec(devices, memory(random), 65_536, perNode, BUNDLE.hardware()));
  }

  private static long memory(Random random) {
    return (1 + random.nextInt(12)) * Fixtures.GIB;
  }

  private static long hostMemory(Random random) {
    return random.nextInt(3) * 20L * Fixtures.GIB;
  }

  private static ClusterSpec options(Random random, ClusterSpec cluster) {
    boolean counts = random.nextBoolean();
    return ClusterSpecBuilder.builder(cluster)
        .hostMemoryBytesPerDevice(hostMemory(random))
        .countsStepMemory(counts)
        .pipeline(
            counts && random.nextBoolean()
                ? Optional.of(
                    TrainingPipeline.of(
                        Named.labels(TrainingPipeline.class).get(random.nextInt(3))))
                : Optional.empty())
        .forwardBytesPerElement(random.nextBoolean() ? 4 : 2)
        .replicaGroups(groups(random, cluster))
        .synchronizationSteps(1 + random.nextInt(1_000))
        .codecs(codecs(random))
        .build();
  }

  /** Numbers of groups that the devices can form, if not one group. */
  private static List<Integer> groups(Random random, ClusterSpec cluster) {
    List<Integer> groups = new ArrayList<>();
    for (int count = 1; count <= cluster.devices(); count++) {
      if (random.nextBoolean() && Fixtures.canFormGroups(cluster, count)) {
        groups.add(count);
      }
    }
    return groups.isEmpty() ? ClusterSpec.ONE_GROUP : groups;
  }

  private static List<CommCodec> codecs(Random random) {
    List<CommCodec> codecs = new ArrayList<>();
    if (random.nextBoolean()) {
      codecs.add(new CommCodec("fp16", 2));
    }
    if (random.nextBoolean()) {
      codecs.add(new CommCodec("int8", 1, 200, 1, false, List.of(Direction.FORWARD)));
    }
    return codecs;
  }

  /** Changes one thing, so that what depends on it alone must be noticed. */
  private static ClusterSpec changed(Random random, ClusterSpec cluster) {
    ClusterSpecBuilder changed = ClusterSpecBuilder.builder(cluster);
    return switch (random.nextInt(10)) {
      case 0 -> changed.hostMemoryBytesPerDevice(hostMemory(random)).build();
      case 1 ->
          changed
              .memoryBytesPerDevice(memory(random))
              .memoryBytesByDevice(List.of())
              .reservedMemoryBytesPerDevice(0)
              .build();
      case 2 -> changed.replicaGroups(groups(random, cluster)).build();
      case 3 -> changed.codecs(codecs(random)).build();
      case 4 ->
          changed.countsStepMemory(!cluster.countsStepMemory()).pipeline(Optional.empty()).build();
      case 5 -> changed.backwardBytesPerElement(random.nextBoolean() ? 4 : 2).build();
      case 6 -> changed.batchSize(32_768 * (1 + random.nextInt(3))).build();
      case 7 ->
          changed
              .reservedMemoryBytesPerDevice(
                  random.nextInt(2) * (cluster.memoryBytesPerDevice() / 4))
              .build();
      case 8 -> changed.optimizer(optimizer(random)).build();
      case 9 -> Fixtures.withUnequalMemory(random, cluster);
      default -> cluster(random);
    };
  }

  private static Optional<Optimizer> optimizer(Random random) {
    Optimizer[] all = Optimizer.values();
    return random.nextBoolean() ? Optional.empty() : Optional.of(all[random.nextInt(all.length)]);
  }

  private static TableSpec table(Random random, String name) {
    TableSpec table = Plans.randomTable(random, name);
    long rows = random.nextInt(4) == 0 ? 1L << (20 + random.nextInt(8)) : table.rows();
    TableSpecBuilder spec = TableSpecBuilder.builder(table).rows(rows);
    if (random.nextBoolean()) {
      spec.accessCdf(Fixtures.cdf(rows));
    }
    spec.pooled(random.nextInt(3) > 0);
    spec.optimizerBytesPerRow(random.nextInt(2) * 4);
    spec.optimizer(optimizer(random));
    spec.enforceHbm(random.nextInt(4) == 0);
    spec.storage(random.nextInt(4) == 0 ? Optional.of(HashedStorage.PLAIN) : Optional.empty());
    TableSpec built = spec.build();
    TableSpec used = random.nextInt(4) == 0 ? Fixtures.withFeatures(built, random) : built;
    TableSpec plain = random.nextInt(3) == 0 ? Fixtures.repeating(used, random) : used;
    while (random.nextInt(3) == 0) {
      Set<ShardKind> kinds = EnumSet.noneOf(ShardKind.class);
      for (int i = random.nextInt(4); i > 0; i--) {
        kinds.add(KINDS.get(random.nextInt(KINDS.size())));
      }
      try {
        return plain.withConstraints(
            new TableConstraints(
                kinds,
                random.nextInt(3) == 0 ? 8 : 0,
                Optional.empty(),
                random.nextInt(4) > 0,
                random.nextInt(4) > 0));
      } catch (RejectedException e) {
        assertThat(e.getMessage()).containsPattern("contradict each other|must allow a kind");
      }
    }
    return plain;
  }

  /** One slow rank: of several, others could not be told from a slow machine. */
  private static List<DeviceSpeed> slow(Random random, int ranks) {
    return List.of(
        new DeviceSpeed(
            random.nextInt(ranks),
            random.nextBoolean() ? CostPart.COMPUTATION : CostPart.COMMUNICATION,
            1.4 + random.nextDouble(),
            0,
            Fixtures.TIME));
  }

  @Property(tries = 8)
  void whatever_is_on_at_once_all_is_as_from_scratch(@ForAll long seed) throws IOException {
    Life life = new Life(seed);
    life.live();
    life.checkReplay();
  }

  /** Otherwise the property would prove less than it claims. */
  @Test
  void random_lives_have_every_feature() throws IOException {
    Map<String, Integer> seen = new HashMap<>();
    for (long seed = 0; seed < 25 && (seed == 0 || seen.containsValue(0)); seed++) {
      Life life = new Life(seed);
      life.live();
      life.seen.forEach((feature, count) -> seen.merge(feature, count, Integer::sum));
      seen.merge("infeasible", life.failures, Integer::sum);
    }
    assertThat(seen).allSatisfy((feature, count) -> assertThat(count).as(feature).isPositive());
  }
}
