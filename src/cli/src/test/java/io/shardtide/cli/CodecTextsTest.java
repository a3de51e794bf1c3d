package io.shardtide.cli;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.shardtide.plan.CollectiveCodec;
import io.shardtide.plan.ShardingPlan;
import io.shardtide.testing.Samples;
import io.shardtide.torchrec.Target;
import io.shardtide.torchrec.TorchRecPlans;
import io.shardtide.workload.CommCodec;
import io.shardtide.workload.Direction;
import io.shardtide.workload.ShardScope;
import java.util.List;
import org.junit.jupiter.api.Test;

/** Forms that are rejected are in {@code RecordTextTest}. */
class CodecTextsTest {
  private static final List<CollectiveCodec> CODECS =
      List.of(
          new CollectiveCodec(
              ShardScope.DEVICE, Direction.FORWARD, new CommCodec("fp16", 2), 0.41256),
          new CollectiveCodec(ShardScope.DEVICE, Direction.BACKWARD, new CommCodec("bf16", 2), 0.1),
          new CollectiveCodec(ShardScope.CLUSTER, Direction.BACKWARD, new CommCodec("fp8", 1), 2));

  private final ObjectMapper json = new ObjectMapper();

  @Test
  void a_plan_names_the_codec_of_each_collective_and_what_it_saves() {
    ShardingPlan plan = Samples.plan();
    assertThat(ShardTexts.codecs(plan)).isEmpty();
    assertThat(ShardTexts.codecs(Samples.with(plan, CODECS)))
        .hasValue(
            "device forward fp16 (saves 0.413 ms), device backward bf16 (saves 0.100 ms),"
                + " cluster backward fp8 (saves 2.000 ms); none elsewhere");
  }

  @Test
  void torchrec_gets_the_names_by_scope_and_direction() throws Exception {
    ObjectNode node = json.createObjectNode();
    TorchRecPlans plans = new TorchRecPlans(Target.DEFAULT);
    plans.putCodecs(node, List.of());
    assertThat(node).isEmpty();
    plans.putCodecs(node, CODECS.subList(0, 2));
    assertThat(node)
        .isEqualTo(
            json.readTree(
                """
                {"qcomms":{"device":{"forward":"fp16","backward":"bf16"}}}
                """));
  }

  @Test
  void what_torchrec_does_not_send_in_a_scope_is_refused() {
    TorchRecPlans plans = new TorchRecPlans(Target.DEFAULT);
    assertThatThrownBy(() -> plans.putCodecs(json.createObjectNode(), CODECS))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessage(
            "The collectives of scope cluster have codec fp8, which TorchRec does not send there on cuda; must be one of fp32, fp16, bf16: plan again without codec fp8");
  }

  @Test
  void a_line_of_a_plans_file_has_the_codecs() throws Exception {
    ObjectNode node = json.createObjectNode();
    PlanLayout layout = new PlanLayout.ByTable();
    layout.putCodecs(node, List.of());
    assertThat(node).isEmpty();
    layout.putCodecs(node, CODECS.subList(2, 3));
    assertThat(node)
        .isEqualTo(
            json.readTree(
                """
                {"codecs":[{"scope":"cluster","direction":"backward","codec":"fp8","saved_ms":2.0}]}
                """));
  }
}
