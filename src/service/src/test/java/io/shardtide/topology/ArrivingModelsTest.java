package io.shardtide.topology;

import static io.shardtide.testing.Fixtures.upsert;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.shardtide.cost.CostPredictions;
import io.shardtide.cost.ModelBundle;
import io.shardtide.cost.ModelBundleBuilder;
import io.shardtide.plan.ShardingPlan;
import io.shardtide.testing.Fixtures;
import io.shardtide.testing.TestModels;
import io.shardtide.workload.Change;
import io.shardtide.workload.ClusterSpec;
import io.shardtide.workload.WorkloadChange;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.Test;

/** Records that name a model which has not arrived wait; records of other keys do not. */
class ArrivingModelsTest extends TopologyFixture {
  private static final ModelBundle H100 =
      ModelBundleBuilder.builder(TestModels.bundle())
          .hardware("h100")
          .modelId("")
          .build()
          .identified();

  /** Ids of models and names of hardware that are being read. */
  private final Set<String> awaited = new HashSet<>();

  private final List<CostPredictions> parts = new ArrayList<>();
  private boolean fails;

  ArrivingModelsTest() {
    faults =
        new Faults() {
          @Override
          public void attempt(String key, String work) {
            if (fails) {
              throw new StackOverflowError("injected");
            }
          }
        };
  }

  @Override
  ArrivingModels models() {
    return new ArrivingModels() {
      @Override
      public long changes() {
        return predictors.changes();
      }

      @Override
      public boolean isDecided(String modelId) {
        return !awaited.contains(modelId);
      }

      @Override
      public boolean isDecided(ClusterSpec cluster) {
        return !awaited.contains(cluster.hardware());
      }
    };
  }

  private void publish(String workload, Change... all) {
    WorkloadChange event = Fixtures.eventOf(workload, all);
    changes.pipeInput(workload.getBytes(StandardCharsets.UTF_8), bytes(event));
  }

  private static Change set(String hardware) {
    return new Change.ClusterSet(new ClusterSpec(2, Fixtures.GIB, 65_536, 2, hardware));
  }

  private void tick() {
    workload.advanceWallClockTime(Duration.ofMillis(100));
    planning.advanceWallClockTime(Duration.ofMillis(100));
    parts.addAll(predictions.readValuesToList());
  }

  @Test
  void events_wait_for_the_first_model_of_their_hardware() {
    awaited.add("h100");
    publish("new", set("h100"), upsert("a", 1_000, 8, 1));
    publish("new", upsert("b", 1_000, 8, 1));
    publish("other", set(Fixtures.HARDWARE), upsert("a", 1_000, 8, 1));
    tick();
    assertThat(parts).extracting(CostPredictions::workloadId).containsOnly("other");

    predictors.takeOver(H100);
    awaited.clear();
    tick();
    assertThat(parts)
        .filteredOn(part -> part.workloadId().equals("new"))
        .extracting(CostPredictions::generation)
        .as("in their order")
        .contains(1L)
        .endsWith(2L)
        .isSorted();
    assertThat(rejected.isEmpty()).isTrue();
  }

  @Test
  void an_event_is_rejected_once_it_is_known_that_its_hardware_gets_no_model() {
    awaited.add("tpu");
    publish("new", set("tpu"), upsert("a", 1_000, 8, 1));
    tick();
    assertThat(rejected.isEmpty()).isTrue();
    awaited.clear();
    tick();
    assertThat(rejected.readValue().message()).contains("hardware must be one with a cost model");
  }

  /** A record that leaves quarantine waits like one that arrives. */
  @Test
  void held_events_wait_for_the_first_model_of_their_hardware() {
    fails = true;
    publish("held", set(Fixtures.HARDWARE), upsert("a", 1_000, 8, 1));
    publish("held", set("h100"));
    tick();
    fails = false;
    awaited.add("h100");
    // Another model releases the key, at the next tick.
    predictors.takeOver(TestModels.otherBundle());
    tick();
    tick();
    assertThat(parts).extracting(CostPredictions::generation).containsOnly(1L);
    assertThat(rejected.isEmpty()).isTrue();

    predictors.takeOver(H100);
    awaited.clear();
    tick();
    assertThat(parts).extracting(CostPredictions::generation).endsWith(2L);
    assertThat(rejected.isEmpty()).isTrue();
  }

  /** Beyond what may wait, the partition waits: the event is not rejected. */
  @Test
  void an_event_that_has_no_room_to_wait_is_not_lost() {
    awaited.add("h100");
    Change[] many = new Change[10_000];
    many[0] = set("h100");
    for (int i = 1; i < many.length; i++) {
      many[i] = upsert("%0250d".formatted(i), 1_000, 8, 1);
    }
    assertThatThrownBy(
            () -> {
              for (int i = 0; i < 60; i++) {
                publish("new-" + i, many);
              }
            })
        .hasStackTraceContaining("a model that the log may have: t.workload-changes-0@")
        .hasStackTraceContaining("has no room among the records that wait");
    assertThat(rejected.isEmpty()).isTrue();
  }

  @Test
  void predictions_wait_for_the_model_that_they_name() {
    publish("waits", set(Fixtures.HARDWARE), upsert("a", 1_000, 8, 1));
    predictors.takeOver(H100);
    publish("planned", set("h100"), upsert("a", 1_000, 8, 1));
    tick();
    awaited.add(TestModels.bundle().modelId());
    for (CostPredictions part : parts) {
      predicted.pipeInput(part.workloadId(), part);
    }
    tick();
    assertThat(plans.readValuesToList())
        .extracting(ShardingPlan::workloadId)
        .containsExactly("planned");
    awaited.clear();
    tick();
    assertThat(plans.readValuesToList())
        .extracting(ShardingPlan::workloadId)
        .containsExactly("waits");
  }
}
