package io.shardtide.cli;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.PrintStream;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Client commands whose cluster does not answer: one line, in time. */
@Timeout(60)
class DeadClusterIT {
  @TempDir private Path folder;
  private String dead;

  /** What a person sees on the terminal, log lines included. */
  private record TimedCommand(int status, String out, List<String> err) {}

  @BeforeEach
  void findUnusedPort() throws IOException {
    try (ServerSocket socket = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
      dead = "127.0.0.1:" + socket.getLocalPort();
    }
  }

  private TimedCommand run(String command) {
    List<String> args = new ArrayList<>(List.of(command.split(" ")));
    args.addAll(List.of("--bootstrap", dead, "--registry", "http://" + dead, "--timeout", "2"));
    StringWriter out = new StringWriter();
    StringWriter err = new StringWriter();
    ByteArrayOutputStream logged = new ByteArrayOutputStream();
    PrintStream before = System.err;
    System.setErr(new PrintStream(logged, true, StandardCharsets.UTF_8));
    int status;
    try {
      status =
          Shardtide.run(new PrintWriter(out), new PrintWriter(err), args.toArray(new String[0]));
    } finally {
      System.setErr(before);
    }
    String all = err + logged.toString(StandardCharsets.UTF_8);
    return new TimedCommand(status, out.toString(), all.lines().toList());
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "publish --workload w --drop a",
        "watch --once",
        "watch",
        "export --out unused",
        "models list",
        "replay --out unused",
        "why --plan 0123456789"
      })
  void one_line_names_the_cluster(String command) {
    TimedCommand run = run(command);
    assertThat(run.err())
        .singleElement()
        .asString()
        .startsWith("shardtide: The Kafka cluster at " + dead + " did not answer: ");
    assertThat(run.out()).isEmpty();
    assertThat(run.status()).isEqualTo(1);
  }

  @Test
  void wrong_values_are_named_before_any_cluster_is_asked() throws IOException {
    TimedCommand table =
        run("publish --workload w --upsert name=a,rows=10,columns=63,poolingFactor=1");
    assertThat(table.err())
        .singleElement()
        .asString()
        .contains("columns of table \"a\"", "got 63")
        .doesNotContain(dead);
    assertThat(table.status()).isEqualTo(2);

    Path file = Files.writeString(folder.resolve("bad.jsonl"), "{\"eventId\":\n");
    TimedCommand event = run("publish --events " + file);
    assertThat(event.err())
        .singleElement()
        .asString()
        .contains("bad.jsonl line 1: ")
        .doesNotContain(dead);

    for (String wrong :
        List.of(
            "--bootstrap-server must be HOST:PORT, or several separated by commas, got \"here\"",
            "--registry must be a URL such as http://HOST:8081, got \"there\"",
            "--timeout must be at least 1 s, got 0")) {
      String option = wrong.substring(0, wrong.indexOf(' '));
      String value = wrong.substring(wrong.lastIndexOf(' ') + 1).replace("\"", "");
      StringWriter err = new StringWriter();
      List<String> args =
          new ArrayList<>(
              List.of(
                  "watch", "--bootstrap-server", dead, "--registry", "http://x", "--timeout", "2"));
      args.set(args.indexOf(option) + 1, value);
      assertThat(
              Shardtide.run(
                  new PrintWriter(new StringWriter()),
                  new PrintWriter(err),
                  args.toArray(new String[0])))
          .isEqualTo(2);
      assertThat(err.toString()).contains(wrong);
    }
  }
}
