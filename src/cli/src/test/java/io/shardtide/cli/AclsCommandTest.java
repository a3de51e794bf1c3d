package io.shardtide.cli;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * The commands of {@code acls} in a shell: no value becomes a part of its syntax; and the rights of
 * optional parts of the planner. {@code SecureRunIT} runs what is printed.
 */
class AclsCommandTest {
  private static String printed(String... args) {
    StringWriter out = new StringWriter();
    assertThat(Shardtide.run(new PrintWriter(out), new PrintWriter(new StringWriter()), args))
        .isZero();
    return out.toString();
  }

  /** Returns the arguments that a shell passes to Kafka's tool, an argument a line. */
  private static List<String> arguments(String commands) throws IOException, InterruptedException {
    Process shell =
        new ProcessBuilder(
                "sh",
                "-c",
                "tool() { printf '%s\\n' \"$@\"; }\n" + commands.replace("kafka-acls.sh", "tool"))
            .redirectErrorStream(true)
            .start();
    String output = new String(shell.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
    assertThat(shell.waitFor(30, TimeUnit.SECONDS)).isTrue();
    assertThat(shell.exitValue()).as(output).isZero();
    return output.lines().toList();
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "User:CN=a b,O=x",
        "User:x; echo hi",
        "User:$(echo hi)",
        "User:`echo hi`",
        "User:it's \"quoted\" \\ * ~ # & | < > !",
        "User:*",
        "User:r\u00e9sum\u00e9"
      })
  void a_principal_stays_one_argument(String principal) throws Exception {
    List<String> arguments =
        arguments(
            printed(
                "acls",
                "--role=viewer",
                "--principal=" + principal,
                "--prefix=a b;",
                "--bootstrap=h:1 $HOME",
                "--command-config=my file"));
    int commands = arguments.stream().filter("--add"::equals).toList().size();
    assertThat(commands).isPositive();
    for (String value : List.of(principal, "h:1 $HOME", "my file")) {
      assertThat(arguments).filteredOn(value::equals).hasSize(commands);
    }
    assertThat(arguments).contains("a b;current-plans").doesNotContain("hi");
  }

  @Test
  void usual_values_are_not_quoted() {
    String printed = printed("acls", "--principal=User:CN=planner,O=x", "--role=planner");
    assertThat(printed.replaceAll("(?m)^#.*\n", ""))
        .contains(" --allow-principal User:CN=planner,O=x --operation ")
        .doesNotContain("'");
  }

  private static List<String> acls(String... options) {
    String[] args = Stream.concat(Stream.of("acls"), Stream.of(options)).toArray(String[]::new);
    return printed(args).lines().filter(line -> !line.startsWith("#")).toList();
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
