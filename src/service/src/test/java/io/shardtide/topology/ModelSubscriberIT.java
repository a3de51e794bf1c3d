package io.shardtide.topology;

import static io.shardtide.wire.TopicType.COST_MODELS;
import static io.shardtide.wire.TopicType.MODEL_DECISIONS;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import io.shardtide.cost.ModelBundle;
import io.shardtide.cost.NearestModel;
import io.shardtide.cost.ShardShape;
import io.shardtide.cost.TablePrediction;
import io.shardtide.cost.TowerPredictor;
import io.shardtide.embedded.DevelopmentRegistry;
import io.shardtide.embedded.EmbeddedKafka;
import io.shardtide.models.ModelFiles;
import io.shardtide.state.ModelDecision;
import io.shardtide.testing.Fixtures;
import io.shardtide.testing.LogClient;
import io.shardtide.testing.SharedCluster;
import io.shardtide.testing.TestModels;
import io.shardtide.workload.ClusterSpec;
import io.shardtide.workload.RejectedException;
import io.shardtide.workload.TableSpec;
import io.shardtide.workload.UnknownHardware;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.apache.kafka.clients.CommonClientConfigs;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.NewTopic;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Models that replace one another on a real broker, and the predictors that are open meanwhile. */
class ModelSubscriberIT {
  private static final ModelBundle ONE = TestModels.bundle();
  private static final ModelBundle TWO = TestModels.otherBundle();
  private static final List<TableSpec> TABLES = List.of(Fixtures.table("a", 1_000, 16, 1));

  private EmbeddedKafka kafka;
  private DevelopmentRegistry registry;
  private LogClient client;
  private ModelSubscriber models;
  private final List<CountedPredictor> open = new CopyOnWriteArrayList<>();

  /** A predictor that notices a call after its end, and can be held up in a call. */
  private final class CountedPredictor implements TowerPredictor {
    private final ModelBundle bundle;
    private final CountDownLatch entered = new CountDownLatch(1);
    private final CountDownLatch mayReturn = new CountDownLatch(1);
    private volatile boolean heldUp;
    private volatile boolean closed;

    CountedPredictor(ModelBundle bundle) {
      this.bundle = bundle;
      open.add(this);
    }

    @Override
    public String modelId() {
      return bundle.modelId();
    }

    @Override
    public Optional<String> proxyHardware() {
      return bundle.proxyHardware();
    }

    @Override
    public List<TablePrediction> predict(List<TableSpec> tables, int batchSize) {
      if (heldUp) {
        entered.countDown();
        try {
          assertThat(mayReturn.await(60, TimeUnit.SECONDS)).isTrue();
        } catch (InterruptedException e) {
          throw new IllegalStateException(e);
        }
      }
      if (closed) {
        throw new IllegalStateException("The predictor is closed");
      }
      return List.of();
    }

    @Override
    public List<TablePrediction> predict(List<TableSpec> tables, ClusterSpec cluster) {
      return predict(tables, cluster.batchSize());
    }

    @Override
    public List<float[]> towers(List<ShardShape> shapes) {
      throw new UnsupportedOperationException();
    }

    @Override
    public void close() {
      assertThat(closed).as("closed once").isFalse();
      closed = true;
      open.remove(this);
    }
  }

  @BeforeEach
  void start() throws Exception {
    kafka = SharedCluster.kafka();
    registry = SharedCluster.registry();
    client = new LogClient(kafka.bootstrapServers(), registry.url(), SharedCluster.freshPrefix());
    try (Admin admin = Admin.create(config())) {
      admin
          .createTopics(
              List.of(
                  new NewTopic(client.topics().of(COST_MODELS).name(), 1, (short) 1),
                  new NewTopic(client.topics().of(MODEL_DECISIONS).name(), 1, (short) 1)))
          .all()
          .get();
    }
    client.registry().register(client.topics());
    models = subscriber(UnknownHardware.NEAREST);
  }

  private Map<String, Object> config() {
    return Map.of(CommonClientConfigs.BOOTSTRAP_SERVERS_CONFIG, kafka.bootstrapServers());
  }

  private ModelSubscriber subscriber(UnknownHardware unknownHardware) {
    return new ModelSubscriber(
        config(),
        client.registry(),
        client.topics(),
        CountedPredictor::new,
        unknownHardware,
        PlannerMetrics.unread());
  }

  @AfterEach
  void stop() throws Exception {
    models.close();
    assertThat(open).as("predictors that nobody closed").isEmpty();
    client.close();
  }

  private void replaceBy(ModelBundle bundle) throws Exception {
    client.publishValue(client.topics().of(COST_MODELS), bundle.hardware(), bundle);
    // An unknown id makes the subscriber read on, on a thread of its own.
    await().until(() -> models.isDecided("no such model"));
    assertThatThrownBy(() -> models.get("no such model")).hasMessageContaining("no such model");
    assertThat(models.of(bundle.hardware()).orElseThrow().modelId()).isEqualTo(bundle.modelId());
  }

  @Test
  void one_predictor_per_hardware_is_open_after_any_number_of_models() throws Exception {
    ModelBundle otherHardware = ModelFiles.shippedForNodes();
    replaceBy(otherHardware);
    for (int n = 0; n < 20; n++) {
      replaceBy(n % 2 == 0 ? ONE : TWO);
      assertThat(open).hasSize(2);
    }
    assertThat(open)
        .extracting(TowerPredictor::modelId)
        .containsExactlyInAnyOrder(otherHardware.modelId(), TWO.modelId());
    assertThat(models.changes()).isEqualTo(21);
  }

  @Test
  void a_start_does_not_replace_a_fine_tuned_model() throws Exception {
    models.publish(ONE);
    ModelBundle newer =
        TestModels.measured(
            TestModels.otherBundle(), TestModels.bundle().card().computeSamples() + 1);
    models.publish(newer);
    assertThat(models.of(ONE.hardware()).orElseThrow().modelId())
        .as("nothing was learned")
        .isEqualTo(newer.modelId());
    ModelBundle learned = TestModels.fineTuned(newer);
    replaceBy(learned);
    models.publish(TWO);
    assertThat(models.of(ONE.hardware()).orElseThrow().modelId()).isEqualTo(learned.modelId());
    assertThatThrownBy(() -> models.get(TWO.modelId())).hasMessageContaining("no model");

    // As an operator does, with a decision.
    replaceBy(TWO);
    models.publish(ONE);
    assertThat(models.of(ONE.hardware()).orElseThrow().modelId())
        .as("on the topic already")
        .isEqualTo(TWO.modelId());
  }

  @Test
  void a_prediction_that_runs_is_finished_by_the_model_that_began_it() throws Exception {
    replaceBy(ONE);
    TowerPredictor held = models.of(ONE.hardware()).orElseThrow();
    CountedPredictor first = open.get(0);
    first.heldUp = true;
    CompletableFuture<List<TablePrediction>> running =
        CompletableFuture.supplyAsync(() -> held.predict(TABLES, 65_536));
    assertThat(first.entered.await(60, TimeUnit.SECONDS)).isTrue();

    replaceBy(TWO);
    assertThat(open).as("the new one, and the old one in use").hasSize(2);
    assertThat(first.closed).isFalse();
    first.mayReturn.countDown();
    assertThat(running.get(60, TimeUnit.SECONDS)).isEmpty();
    assertThat(first.closed).isTrue();
    assertThat(open).extracting(TowerPredictor::modelId).containsExactly(TWO.modelId());

    // A caller that looked the predictor up before, and calls it now.
    assertThat(held.modelId()).isEqualTo(ONE.modelId());
    assertThat(held.predict(TABLES, 65_536)).isEmpty();
    assertThat(open).hasSize(1);
  }

  @Test
  void a_record_that_is_not_a_model_leaves_the_current_one() throws Exception {
    replaceBy(ONE);
    client.publish(
        client.topics().of(COST_MODELS), ONE.hardware(), "noise".getBytes(StandardCharsets.UTF_8));
    replaceBy(TWO);
    List<String> ids = new ArrayList<>(List.of(ONE.modelId(), TWO.modelId()));
    assertThat(ids).allSatisfy(id -> assertThat(models.get(id).bundle().modelId()).isEqualTo(id));
  }

  private static ClusterSpec h100() {
    return new ClusterSpec(8, Fixtures.GIB, 65_536, 8, "h100");
  }

  /** As a topology does: records of the cluster wait until its hardware has a model, or none. */
  private static Optional<TowerPredictor> begin(ModelSubscriber subscriber) {
    await().atMost(Duration.ofSeconds(60)).until(() -> subscriber.isDecided(h100()));
    return subscriber.begin(h100());
  }

  /** Two planners, each with its own reader, meet the same hardware at the same time. */
  @Test
  void one_instance_publishes_the_first_model_of_hardware_and_all_predict_with_it()
      throws Exception {
    replaceBy(ONE);
    try (ModelSubscriber other = subscriber(UnknownHardware.NEAREST)) {
      CompletableFuture<Optional<TowerPredictor>> there =
          CompletableFuture.supplyAsync(() -> begin(other));
      Optional<TowerPredictor> here = begin(models);
      assertThat(here.orElseThrow().proxyHardware()).contains("simulated");
      assertThat(there.get(60, TimeUnit.SECONDS).orElseThrow().modelId())
          .isEqualTo(here.get().modelId());
      assertThat(client.committed(client.topics().of(COST_MODELS)))
          .extracting(ModelBundle::hardware)
          .containsExactly("simulated", "h100");
      ModelDecision decision = client.committed(client.topics().of(MODEL_DECISIONS)).get(0);
      assertThat(decision.trigger()).isEqualTo(ModelDecision.Trigger.COLD_START);
      assertThat(decision.published()).isTrue();
      assertThat(decision.championId()).isEqualTo(ONE.modelId());
      assertThat(decision.challengerId()).contains(here.get().modelId());
      assertThat(decision.reason())
          .startsWith(
              "Begins with the model of simulated: its training range is nearest to the first");
      assertThat(models.isOtherHardware(here.get().modelId())).isTrue();
      assertThat(models.isOtherHardware(ONE.modelId())).isFalse();
    }
  }

  @Test
  void a_first_model_never_replaces_one_that_was_retrained_since() throws Exception {
    replaceBy(ONE);
    try (ModelSubscriber other = subscriber(UnknownHardware.NEAREST)) {
      // This instance has read the topic before the other one publishes, and is then held up.
      assertThat(models.of("h100")).isEmpty();
      ModelBundle first = other.get(begin(other).orElseThrow().modelId()).bundle();
      ModelBundle retrained = TestModels.measured(first, 32);
      client.publishValue(client.topics().of(COST_MODELS), "h100", retrained);
      assertThat(begin(models).orElseThrow().modelId()).isEqualTo(retrained.modelId());
      assertThat(client.committed(client.topics().of(COST_MODELS)))
          .extracting(ModelBundle::modelId)
          .containsExactly(ONE.modelId(), first.modelId(), retrained.modelId());
    }
  }

  /** The instance that began earlier is held up between its last look and its publication. */
  @Test
  void an_instance_that_is_overtaken_while_it_publishes_is_fenced() throws Exception {
    ColdStartPublisher publisher =
        new ColdStartPublisher(config(), client.registry(), client.topics());
    ModelBundle first = NearestModel.begin(List.of(ONE), h100()).orElseThrow();
    publisher.publish(
        h100(),
        () -> {
          publisher.publish(h100(), Optional::empty);
          return Optional.of(first);
        });
    assertThat(client.committed(client.topics().of(COST_MODELS))).isEmpty();
    assertThat(client.committed(client.topics().of(MODEL_DECISIONS))).isEmpty();
  }

  /** As many as a planner of before there was a limit may have published, and more. */
  @Test
  void hardware_beyond_the_limit_begins_no_model_and_all_that_began_keeps_its_own()
      throws Exception {
    replaceBy(ONE);
    int names = NearestModel.MOST_BORROWED + 3;
    for (int i = 0; i < names; i++) {
      ClusterSpec cluster = new ClusterSpec(8, Fixtures.GIB, 65_536, 8, "h" + i);
      ModelBundle begun = NearestModel.begin(List.of(ONE), cluster).orElseThrow();
      client.publishValue(client.topics().of(COST_MODELS), begun.hardware(), begun);
    }
    await().until(() -> models.isDecided("no such model"));
    assertThat(models.hardware()).hasSize(1 + names);
    assertThat(open).extracting(TowerPredictor::modelId).containsExactly(ONE.modelId());
    for (int i = 0; i < names; i++) {
      assertThat(models.of("h" + i).orElseThrow().predict(TABLES, 65_536)).isEmpty();
      assertThat(open).hasSizeLessThanOrEqualTo(OpenPredictors.MOST_UNUSED);
    }
    assertThatThrownBy(() -> begin(models))
        .isInstanceOf(RejectedException.class)
        .hasMessageContaining("at most 64 kinds")
        .hasMessageContaining("got \"h100\" beside [h0, h1, h10, ");
    assertThat(models.problem()).isEmpty();
    assertThat(client.committed(client.topics().of(COST_MODELS)))
        .extracting(ModelBundle::hardware)
        .doesNotContain("h100");
  }

  @Test
  void hardware_without_a_model_may_be_rejected() throws Exception {
    replaceBy(ONE);
    try (ModelSubscriber rejecting = subscriber(UnknownHardware.REJECT)) {
      assertThat(begin(rejecting)).isEmpty();
      assertThat(rejecting.hardware()).containsExactly("simulated");
    }
  }
}
