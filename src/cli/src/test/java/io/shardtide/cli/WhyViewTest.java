package io.shardtide.cli;

import static org.assertj.core.api.Assertions.assertThat;

import io.shardtide.replay.PlanProvenance;
import io.shardtide.replay.PlanProvenance.SharedDevices;
import io.shardtide.testing.Samples;
import java.util.List;
import java.util.Optional;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

class WhyViewTest {
  private static String text(List<SharedDevices> shared) {
    return new WhyView()
        .show(
            new PlanProvenance(
                Samples.plan(),
                Optional.empty(),
                Optional.empty(),
                Optional.empty(),
                List.of(),
                List.of(),
                shared,
                List.of(),
                List.of(),
                Optional.of(true)));
  }

  @Test
  void a_plan_of_a_simulated_model_says_so() {
    assertThat(text(List.of()))
        .containsPattern("predicted step [0-9.]+ ms.* \\(simulated costs\\)");
  }

  @Test
  void tables_that_share_devices_say_with_which() {
    assertThat(text(List.of(new SharedDevices("b", "a"), new SharedDevices("clicks", "b"))))
        .endsWith(
            """
            placed together by constraints, so that no split, kind or move of one is explained:
                table   on the devices of
                b       a
                clicks  b
            """);
    assertThat(text(List.of())).doesNotContain("placed together");
    List<SharedDevices> many =
        IntStream.range(0, 23).mapToObj(i -> new SharedDevices("t" + i, "a")).toList();
    assertThat(text(many)).endsWith("    ... and 3 more\n");
  }
}
