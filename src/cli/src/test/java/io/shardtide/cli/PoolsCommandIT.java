package io.shardtide.cli;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.shardtide.client.AllocationSubscriber;
import io.shardtide.client.AllocationUpdate;
import io.shardtide.client.Outcome;
import io.shardtide.client.PoolPublisher;
import io.shardtide.pool.Allocation;
import io.shardtide.pool.PoolChange;
import io.shardtide.pool.PoolNode;
import io.shardtide.testing.LocalPlanner;
import io.shardtide.wire.Codec;
import io.shardtide.wire.Extension;
import io.shardtide.wire.JsonLines;
import io.shardtide.workload.RejectionReason;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
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
  private static final int PATIENCE_S = 60;
  private static final String PAGE = "docs/POOLS.md";

  @TempDir private static Path folder;
  private static LocalPlanner planner;

  private record PoolsResult(int status, String out, String err) {}

  @BeforeAll
  static void start() throws Exception {
    planner = LocalPlanner.start(folder, "shardtide.", Set.of(Extension.POOLS));
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

  @Test
  @Order(1)
  void without_a_pool_commands_say_so() {
    assertThat(pools("list").out().lines()).hasSize(1);
    assertThat(pools("show", "gpus").err().strip())
        .isEqualTo(
            "shardtide: There is no pool \"gpus\"; expected one of []. A pool is set with: shardtide pool apply");
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
      if (text.startsWith("run ")
          || text.matches("(plan |pool )?why .*")) { // PoolExportIT asks why
        continue;
      }
      PoolsResult result = run((text + (text.contains("watch") ? " --once" : "")).split(" +", -1));
      assertThat(result.status()).as("%s%n%s%s", text, result.out(), result.err()).isZero();
      assertThat(result.err()).as(text).isEmpty();
      shown.add(result.out());
    }
    assertThat(shown).hasSize(8);
    assertThat(shown.get(0)).containsPattern("[0-9a-f]{8} +gpus +generation 1\n");
    assertThat(shown.get(3))
        .contains(
            "generation 2\nThe claim is above the pool: 64 devices at most, and pool gpus has 32.")
        .containsPattern("search-ads: \\d+ devices on n1.*; starts on ")
        .doesNotContain("simulated");
    assertThat(shown.get(4))
        .contains("generation 3\n")
        .containsPattern("feed-ranking: (8|16) devices on n\\d.*; starts on ");
    assertThat(shown.get(5))
        .startsWith("pool gpus, generation 3: 4 nodes of 8 devices, 80.0 GiB each, hardware h200\n")
        .containsPattern("n1 +r1 +search-ads\n")
        .containsPattern("feed-ranking +8 to 16 +1.0 +0 +\\d+ +\\d +2.0 +[0-9,]+ +[a-z]+\n")
        .contains("samples/s, ")
        .doesNotContain("not allocated yet", "simulated");
    assertThat(shown.get(6)).contains("generation 4\n", "the pool lost 1 node of it");
    assertThat(shown.get(7)).contains("generation 5\n");
    assertThat(pools("watch", "gpus", "--once").out())
        .contains("pool gpus, generation 5: 4 nodes of 8 devices");
  }

  @Test
  @Order(3)
  void each_event_of_a_publisher_has_its_outcome_and_one_sent_again_is_rejected() throws Exception {
    try (PoolPublisher publisher = PoolPublisher.connect(planner.endpoint(), "test")) {
      PoolChange added = publisher.change("gpus").nodeAdded(new PoolNode("n5", "r2")).event();
      CompletableFuture<Outcome> first = publisher.publishAndAwait(added);
      CompletableFuture<Outcome> unknown = publisher.change("gpus").nodeLost("n9").sendAndAwait();
      CompletableFuture<Outcome> last = publisher.change("gpus").nodeLost("n5").sendAndAwait();
      assertThat(generation(first)).isBetween(6L, 7L);
      assertThat(reason(unknown)).isEqualTo(RejectionReason.UNKNOWN_NODE);
      assertThat(generation(last)).isEqualTo(7);
      assertThat(reason(publisher.publishAndAwait(added)))
          .isEqualTo(RejectionReason.DUPLICATE_EVENT);
    }
    assertThat(latest().generation()).isEqualTo(7);
  }

  private static long generation(CompletableFuture<Outcome> outcome) throws Exception {
    return ((Outcome.Accepted) outcome.get(PATIENCE_S, TimeUnit.SECONDS))
        .generation()
        .orElseThrow();
  }

  private static RejectionReason reason(CompletableFuture<Outcome> outcome) throws Exception {
    return ((Outcome.Rejected) outcome.get(PATIENCE_S, TimeUnit.SECONDS)).reason();
  }

  @Test
  @Order(4)
  void a_withdrawn_claim_frees_its_nodes_and_a_subscriber_learns_it() throws Exception {
    BlockingQueue<AllocationUpdate> updates = new LinkedBlockingQueue<>();
    AllocationSubscriber subscriber =
        AllocationSubscriber.start(planner.endpoint(), Optional.of("gpus"), updates::add);
    try {
      AllocationUpdate first = updates.poll(PATIENCE_S, TimeUnit.SECONDS);
      assertThat(first.previous()).isEmpty();
      assertThat(first.concerns("search-ads")).isTrue();
      PoolsResult withdrawn = pools("withdraw", "gpus", "search-ads");
      assertThat(withdrawn.out()).contains("generation 8\nsearch-ads has no claim any more.\n");
      AllocationUpdate second = updates.poll(PATIENCE_S, TimeUnit.SECONDS);
      assertThat(second.previous()).contains(first.allocation());
      assertThat(second.allocation().of("search-ads")).isEmpty();
      assertThat(second.concerns("search-ads")).isTrue();
    } finally {
      subscriber.close();
    }
    assertThat(pools("list").out()).containsPattern("gpus +8 +4 +\\d +32 +1 +0 +h200\n");
    assertThat(pools("withdraw", "gpus", "search-ads").out())
        .contains("UNKNOWN_CLAIM", "got that of workload \"search-ads\"");
  }

  @Test
  @Order(5)
  void json_is_for_scripts() throws Exception {
    PoolsResult lost = pools("lose", "gpus", "n9", "--json");
    assertThat(lost.status()).isEqualTo(1);
    JsonNode answer = new ObjectMapper().readTree(lost.out());
    assertThat(answer.get("pool").textValue()).isEqualTo("gpus");
    assertThat(answer.get("outcome").textValue()).isEqualTo("rejected");
    assertThat(answer.get("reason").textValue()).isEqualTo("UNKNOWN_NODE");
    assertThat(answer.get("message").textValue()).contains("got \"n9\"");
    assertThat(pools("show", "gpus", "--json").out().strip())
        .isEqualTo(new JsonLines<>(Codec.ALLOCATION).write(latest()));
    Path links = folder.resolve("links.json");
    Files.writeString(
        links,
        Files.readString(Path.of("src/cli/src/test/resources/links.json"))
            .replaceAll("\"n(\\d)\"", "\"m$1\""));
    PoolsResult set =
        pools(
            "set",
            "measured",
            "--devices-per-node=1",
            "--memory-gib=80",
            "--hardware=h200",
            "--nodes=m1,m2,m3",
            "--links",
            links.toString());
    assertThat(set.status()).as(set.out() + set.err()).isZero();
    List<String> listed = pools("list", "--json").out().lines().toList();
    assertThat(listed).hasSize(2);
    JsonNode gpus = new ObjectMapper().readTree(listed.get(0));
    assertThat(gpus.get("poolId").textValue()).isEqualTo("gpus");
    assertThat(gpus.get("generation").longValue()).isEqualTo(8);
    assertThat(gpus.get("claims").longValue()).isEqualTo(1);
    JsonNode measured = new ObjectMapper().readTree(listed.get(1));
    assertThat(measured.get("poolId").textValue()).isEqualTo("measured");
    assertThat(measured.get("freeNodes").longValue()).isEqualTo(3);
  }

  /**
   * A node that two pools have, and a workload that claims devices of both, would be used twice.
   */
  @Test
  @Order(6)
  void what_another_pool_has_is_refused_before_anything_is_sent() {
    String feed = "workload \"feed-ranking\" must have a claim on one pool, got one on pool";
    refused(
        feed
            + " \"measured\" besides that on pool \"gpus\". Maybe withdraw that first: shardtide pool delete gpus feed-ranking",
        "claim",
        "measured",
        "feed-ranking",
        "--least=1",
        "--most=2");
    String node =
        "node \"n2\" must be in one pool, got pool \"%s\" besides pool \"gpus\". Maybe take it from there first: shardtide pool node rm gpus n2";
    refused(node.formatted("measured"), "add", "measured", "n2");
    refused(
        node.formatted("third"),
        "set",
        "third",
        "--devices-per-node=1",
        "--memory-gib=80",
        "--hardware=a",
        "--nodes=t1,n2");
    assertThat(pools("list").out())
        .containsPattern("measured +1 +3 +3 +3 +0 ")
        .doesNotContain("third");
    assertThat(pools("claim", "gpus", "feed-ranking", "--least=8", "--most=16").status()).isZero();
  }

  private static void refused(String message, String... command) {
    PoolsResult result = pools(command);
    assertThat(result.status()).isEqualTo(1);
    assertThat(result.err().strip()).isEqualTo("shardtide: " + message);
    assertThat(result.out()).isEmpty();
  }

  @Test
  @Order(7)
  void where_pools_are_not_enabled_each_command_says_so() {
    for (List<String> command :
        List.of(
            List.of(
                "set",
                "gpus",
                "--devices-per-node=8",
                "--memory-gib=80",
                "--hardware=a",
                "--nodes=n"),
            List.of("claim", "gpus", "ads", "--least=1", "--most=2"),
            List.of("withdraw", "gpus", "ads"),
            List.of("lose", "gpus", "n1"),
            List.of("add", "gpus", "n1"),
            List.of("list"),
            List.of("show", "gpus"),
            List.of("watch", "gpus"))) {
      List<String> args = new ArrayList<>(command);
      args.addAll(List.of("--prefix", "other.", "--timeout", "5"));
      PoolsResult result = pools(args.toArray(new String[0]));
      assertThat(result.status()).isEqualTo(1);
      assertThat(result.err().strip())
          .as(command.get(0))
          .startsWith("shardtide: There is no topic other.")
          .endsWith("Set pools.enabled=true for the planner, or use its topic prefix")
          .doesNotContain("\n");
    }
  }
}
