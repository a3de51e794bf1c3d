package io.shardtide.cli;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.PrintWriter;
import java.io.StringWriter;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** What somebody types who has not read a page, and what he gets. */
class FirstCallsTest {
  private final StringWriter out = new StringWriter();
  private final StringWriter err = new StringWriter();

  private int run(String call) {
    String[] args = call.isEmpty() ? new String[0] : call.split(" ", -1);
    return Shardtide.run(new PrintWriter(out), new PrintWriter(err), args);
  }

  @Test
  void the_program_alone_prints_its_help() {
    assertThat(run("")).isZero();
    assertThat(out.toString()).startsWith("Usage: shardtide ").contains("workload", "Exit status:");
    assertThat(err.toString()).isEmpty();
  }

  @Test
  void version_is_a_command() {
    assertThat(run("version")).isZero();
    assertThat(out.toString()).startsWith("shardtide ").contains("Java ");
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      quoteCharacter = '`',
      textBlock =
          """
          pool | pool needs one of node, apply, claim, delete, get, list, watch, why | pool
          plan make | plan make needs -f FILE | plan make
          pool get | pool get needs POOL | pool get
          pool get gpus | this command needs a cluster: give --bootstrap-server and --registry, or set SHARDTIDE_BOOTSTRAP_SERVER and SHARDTIDE_REGISTRY, or a context in ~/.config/shardtide/config.yaml | pool get
          watch | this command needs a cluster: give --bootstrap-server and --registry, or set SHARDTIDE_BOOTSTRAP_SERVER and SHARDTIDE_REGISTRY, or a context in ~/.config/shardtide/config.yaml | plan watch
          plan watch -b kafka:9092 | this command needs a cluster: give --bootstrap-server and --registry, or set SHARDTIDE_BOOTSTRAP_SERVER and SHARDTIDE_REGISTRY, or a context in ~/.config/shardtide/config.yaml | plan watch
          pool gett gpus | there is no command "gett". Maybe get. | pool
          plan watch --bootstrap-servers k:1 | there is no option --bootstrap-servers. Maybe --bootstrap-server. | plan watch
          rights --role nobody | Invalid value for option '--role': expected one of [publisher, planner, trainer, dashboard, viewer] (case-insensitive) but was 'nobody' | rights
          model list -o yaml | Invalid value for option '--output': expected one of [text, json, jsonl] (case-insensitive) but was 'yaml' | model list
          """)
  void a_wrong_call_says_what_is_right(String call, String problem, String help) {
    assertThat(run(call)).isEqualTo(2);
    assertThat(err.toString())
        .isEqualTo(
            "shardtide: %s%nRun \"shardtide %s --help\" for its usage.%n".formatted(problem, help));
  }
}
