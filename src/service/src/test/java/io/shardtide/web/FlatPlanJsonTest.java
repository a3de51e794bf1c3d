package io.shardtide.web;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.datatype.jdk8.Jdk8Module;
import com.fasterxml.jackson.datatype.jsr310.JavaTimeModule;
import io.shardtide.plan.Overlap;
import io.shardtide.plan.Region;
import io.shardtide.testing.Samples;
import org.junit.jupiter.api.Test;

/** The dashboard's pages read these names. */
class FlatPlanJsonTest {
  private final ObjectMapper json =
      new ObjectMapper()
          .registerModules(new Jdk8Module(), new JavaTimeModule(), new FlatPlanJson());

  @Test
  void shards_and_moves_are_flat() throws Exception {
    JsonNode plan = json.readTree(json.writeValueAsString(Samples.plan()));
    assertThat(plan.get("shards").get(0))
        .isEqualTo(
            json.readTree(
                """
                {"table":"a","columnOffset":0,"columns":4,"rowOffset":0,"rows":10,"device":1,"kind":"COLUMN_WISE","cacheShare":null,"deduplicated":false,"rowOrder":null}
                """));
    assertThat(plan.get("moves").get(0))
        .isEqualTo(
            json.readTree(
                """
                {"table":"a","columnOffset":0,"columns":4,"rowOffset":0,"rows":10,"fromDevice":0,"toDevice":1,"bytes":160}
                """));
  }

  /** The names of an Avro record, less those that it computes. */
  @Test
  void a_plan_is_flat() throws Exception {
    JsonNode plan = json.readTree(json.writeValueAsString(Samples.plan()));
    assertThat(plan.properties().stream().map(java.util.Map.Entry::getKey))
        .containsExactlyInAnyOrder(
            "planId",
            "workloadId",
            "generation",
            "firstGeneration",
            "effort",
            "source",
            "modelId",
            "settings",
            "previousPlanId",
            "slow",
            "reason",
            "shards",
            "replication",
            "codecs",
            "kernels",
            "deviceCosts",
            "predictedMs",
            "moves",
            "moveOrder",
            "insight",
            "outOfRange",
            "outOfRangeCount",
            "cacheMisses",
            "hotOwners",
            "evaluations",
            "searchMillis",
            "createdAt");
  }

  @Test
  void overlaps_are_flat() throws Exception {
    JsonNode overlap =
        json.readTree(json.writeValueAsString(new Overlap("a", new Region(4, 8, 2, 3), 1, 0)));
    assertThat(overlap)
        .isEqualTo(
            json.readTree(
                """
                {"table":"a","columnOffset":4,"columns":8,"rowOffset":2,"rows":3,"fromDevice":1,"toDevice":0}
                """));
  }
}
