package io.shardtide.cli;

import static org.assertj.core.api.Assertions.assertThat;

import io.shardtide.domain.pool.Allocation;
import io.shardtide.domain.pool.WorkloadAllocation;
import io.shardtide.testing.LocalPlanner;
import io.shardtide.wire.Codec;
import io.shardtide.wire.JsonLines;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.MethodOrderer;
import org.junit.jupiter.api.Order;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestMethodOrder;
import org.junit.jupiter.api.io.TempDir;

/** The walk-through of the page on pools, against a real broker, registry and planner. */
@TestMethodOrder(MethodOrderer.OrderAnnotation.class)
class PoolsCommandIT {
  private static final String PAGE = "docs/POOLS.md";

  @TempDir private static Path folder;
  private static LocalPlanner planner;

  private record PoolsResult(int status, String out, String err) {}

  @BeforeAll
  static void start() throws Exception {
    planner = LocalPlanner.startWithPools(folder, "shardtide.");
  }

  @AfterAll
  static void stop() throws Exception {
    planner.close();
  }

  private static PoolsResult run(String... args) {
    StringWriter out = new StringWriter();
    StringWriter err = new StringWriter();
    int status = Shardtide.run(new PrintWriter(out), new PrintWriter(err), args);
    return new PoolsResult(status, out.toString(), err.toString());
  }

  private static PoolsResult pools(String... args) {
    List<String> all = new ArrayList<>(List.of("pools"));
    all.addAll(List.of(args));
    all.addAll(
        List.of("--bootstrap", planner.bootstrapServers(), "--registry", planner.registryUrl()));
    return run(all.toArray(new String[0]));
  }

  private static Allocation latest() {
    PoolsResult shown = pools("watch", "gpus", "--once", "--json");
    assertThat(shown.status()).as(shown.err()).isZero();
    return new JsonLines<>(Codec.ALLOCATION).read(shown.out().strip());
  }

  private static List<String> nodes(String workload) {
    return latest().of(workload).map(WorkloadAllocation::nodes).orElse(List.of());
  }

  @Test
  @Order(1)
  void without_a_pool_commands_say_so() {
    assertThat(pools("list").out().lines()).hasSize(1);
    assertThat(pools("show", "gpus").err().strip())
        .isEqualTo(
            "shardtide: There is no pool \"gpus\"; expected one of []. A pool is set with: shardtide pools set");
    PoolsResult early = pools("claim", "gpus", "search-ads", "--least", "8", "--most", "16");
    assertThat(early.status()).isEqualTo(1);
    assertThat(early.out())
        .contains("UNKNOWN_POOL", "pool \"gpus\" must be set before its nodes and claims change");
  }

  @Test
  @Order(2)
  void the_walk_through_works() throws Exception {
    List<String> shown = new ArrayList<>();
    for (DocumentedCommands.Command command : DocumentedCommands.of(List.of(PAGE))) {
      String text =
          command
              .text()
              .replaceFirst("^./shardtide +", "")
              .replace("HOST:PORT", planner.bootstrapServers())
              .replace("URL", planner.registryUrl());
      if (text.startsWith("run ")) {
        continue;
      }
      PoolsResult result = run(text.split(" +", -1));
      System.out.println(command.text() + "\n" + result.out() + result.err());
      assertThat(result.status()).as("%s%n%s%s", text, result.out(), result.err()).isZero();
      assertThat(result.err()).isEmpty();
      shown.add(result.out());
    }
    assertThat(shown).hasSize(8);
  }
}
