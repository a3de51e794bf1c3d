package io.shardtide.cli;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.PrintWriter;
import java.io.StringWriter;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

/** The rights of optional parts of the planner; {@code SecureRunIT} runs what is printed. */
class AclsCommandTest {
  private static List<String> acls(String... options) {
    List<String> arguments = new ArrayList<>(List.of("acls"));
    arguments.addAll(List.of(options));
    StringWriter out = new StringWriter();
    StringWriter err = new StringWriter();
    assertThat(
            Shardtide.run(
                new PrintWriter(out), new PrintWriter(err), arguments.toArray(String[]::new)))
        .as(err.toString())
        .isZero();
    return out.toString().lines().filter(line -> !line.startsWith("#")).toList();
  }

  @Test
  void rights_of_pools_are_printed_on_a_switch_only() {
    List<String> without = acls();
    List<String> with = acls("--pools");
    assertThat(without).noneMatch(line -> line.matches(".*(pool|curve|allocation).*"));
    assertThat(with)
        .containsAll(without)
        .anyMatch(line -> line.contains("--operation Write --topic shardtide.pool-changes"));
  }

  @Test
  void rights_of_growth_are_printed_beside_those_of_pools() {
    assertThat(acls("--growth"))
        .containsAll(acls())
        .noneMatch(line -> line.matches(".*(pool|curve|allocation).*"));
    assertThat(acls("--growth", "--pools"))
        .containsAll(acls("--growth"))
        .containsAll(acls("--pools"));
  }
}
