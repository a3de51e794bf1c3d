package io.shardtide.cli;

import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.shardtide.client.Endpoint;
import io.shardtide.client.PoolPublisher;
import io.shardtide.client.PoolReader;
import io.shardtide.client.PoolReader.AllocatedPool;
import io.shardtide.domain.pool.PoolChange;
import io.shardtide.domain.pool.PoolUpdate;
import java.io.IOException;
import java.io.PrintWriter;
import java.time.Instant;
import java.util.List;
import java.util.Optional;
import java.util.SortedMap;
import java.util.UUID;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;

/** The options of subcommands that publish an event of a pool, and how they publish it. */
final class PoolEventOption {
  private static final int SHOWN_ID = 8;

  @Option(
      names = "--source",
      paramLabel = "TEXT",
      defaultValue = "command line",
      description = "Name of the publisher, for people. Default: ${DEFAULT-VALUE}.")
  private String source;

  @Option(names = "--json", description = "Print the outcome as JSON.")
  private boolean json;

  /**
   * Publishes an event, waits for the planner's decision and prints it.
   *
   * @param spec the command, which prints
   * @param cluster where to
   * @param poolId the pool
   * @param update the event's one change
   * @param workloadId the workload whose claim it changes; empty if none
   * @return 0 if the event was accepted, 1 otherwise
   */
  int publish(
      CommandSpec spec,
      ClusterOption cluster,
      String poolId,
      PoolUpdate update,
      Optional<String> workloadId)
      throws IOException, InterruptedException {
    PoolChange event =
        new PoolChange(UUID.randomUUID(), poolId, Instant.now(), source, List.of(update));
    Endpoint endpoint = cluster.endpoint();
    KafkaLogSummary quietLog = cluster.quietLog();
    try (PoolPublisher publisher = PoolPublisher.connect(endpoint, source)) {
      PublishedOutcome outcome =
          PublishedOutcome.await(
              publisher.publishAndAwait(event),
              cluster.timeout().toNanos(),
              cluster.timeout(),
              "a planner with pools.enabled=true");
      if (outcome.kind().equals(PublishedOutcome.NOT_SENT)) {
        throw new IllegalStateException(
            "Event %s was not sent: %s".formatted(event.eventId(), outcome.detail()));
      }
      PrintWriter out = spec.commandLine().getOut();
      if (json) {
        ObjectNode node =
            JsonNodeFactory.instance
                .objectNode()
                .put("event", event.eventId().toString())
                .put("pool", poolId);
        outcome.write(node);
        out.print(JsonText.pretty(node));
      } else {
        TextTable table = new TextTable("event", "pool", "outcome");
        table.add(event.eventId().toString().substring(0, SHOWN_ID), poolId, outcome.text());
        out.print(table);
        out.print(
            outcome.isAccepted()
                ? answer(spec, endpoint, poolId, workloadId)
                : AllocationView.wrapped(outcome.detail()));
      }
      out.flush();
      return outcome.isAccepted() ? 0 : 1;
    } finally {
      quietLog.close();
    }
  }

  private static String answer(
      CommandSpec spec, Endpoint endpoint, String poolId, Optional<String> workloadId)
      throws IOException {
    try (PoolReader reader = PoolReader.connect(endpoint);
        SimulatedCurves simulated =
            new SimulatedCurves(endpoint, line -> spec.commandLine().getErr().println(line))) {
      SortedMap<String, AllocatedPool> pools = reader.read();
      return new AllocationView(pools.get(poolId), simulated::contains).answer(workloadId, pools);
    }
  }
}
