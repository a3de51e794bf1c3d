package io.shardtide.cli;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.PrintWriter;
import java.io.StringWriter;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

/** Wrong values of the command forecasts, which are named before a cluster is asked. */
class ForecastsCommandTest {
  private static final String CLUSTER = "--bootstrap=127.0.0.1:1";

  private final StringWriter err = new StringWriter();

  private int run(String... args) {
    List<String> all = new ArrayList<>(List.of("forecasts"));
    all.addAll(List.of(args));
    return Shardtide.run(
        new PrintWriter(new StringWriter()), new PrintWriter(err), all.toArray(new String[0]));
  }

  @Test
  void an_address_is_needed() {
    assertThat(run(CLUSTER)).isEqualTo(2);
    assertThat(err.toString())
        .contains("give --bootstrap-server and --registry, or set SHARDTIDE_BOOTSTRAP_SERVER");
  }

  @Test
  void a_workload_must_be_a_name() {
    assertThat(run(CLUSTER, "--registry=http://127.0.0.1:1", "--workload=\u0007")).isEqualTo(2);
    assertThat(err.toString().strip())
        .isEqualTo(
            "shardtide: workload id must have 1 to 255 characters, none of them a control"
                + " character, got \"\uFFFD\": it contains a control character");
  }

  @Test
  void growth_must_be_a_factor() {
    assertThat(run(CLUSTER, "--registry=http://127.0.0.1:1", "--growth=-2")).isEqualTo(2);
    assertThat(err.toString().strip())
        .isEqualTo("shardtide: --horizon-factor must be 0 to 1000, got -2");
    assertThat(run(CLUSTER, "--registry=http://127.0.0.1:1", "--growth=double")).isEqualTo(2);
  }

  @Test
  void there_is_one_workload() {
    assertThat(run(CLUSTER, "--registry=http://127.0.0.1:1", "ads", "feed")).isEqualTo(2);
    assertThat(err.toString()).contains("feed");
  }
}
