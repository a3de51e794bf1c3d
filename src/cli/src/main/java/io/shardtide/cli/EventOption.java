package io.shardtide.cli;

import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.shardtide.client.Outcome;
import io.shardtide.client.WorkloadPublisher;
import io.shardtide.wire.Codec;
import io.shardtide.workload.Change;
import io.shardtide.workload.WorkloadChange;
import java.io.IOException;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import picocli.CommandLine.Option;

/** The options of commands that change workloads, and how they publish the events. */
final class EventOption extends SourceOption {
  /** Events that are pending at a time. */
  private static final int BATCH = 1000;

  @Option(
      names = "--if-generation",
      paramLabel = "N",
      description =
          "The generation that the workload must have before; another publisher's change rejects"
              + " the event.")
  private Long generation;

  @Option(
      names = "--dry-run",
      description = "Check the events, print them as lines for a file, and publish nothing.")
  private boolean isDry;

  private final List<ObjectNode> outcomes = new ArrayList<>();
  private final TextTable table = new TextTable("event", "workload", "outcome", "");
  private long accepted;

  /** When an outcome, or else the first event, was last seen, by {@link System#nanoTime}. */
  private long lastProgress;

  private record SentEvent(WorkloadChange event, CompletableFuture<Outcome> outcome) {}

  @Override
  void check() throws IOException {
    if (!isDry) {
      super.check();
    }
  }

  /** Returns a new event with changes of a workload. */
  WorkloadChange event(String workload, List<Change> changes) {
    WorkloadChange event =
        new WorkloadChange(
            UUID.randomUUID(),
            workload,
            Instant.now(),
            source(),
            generation == null ? OptionalLong.empty() : OptionalLong.of(generation),
            changes);
    event.checkDistinct();
    return event;
  }

  /**
   * Publishes events, and prints the planner's decision on each.
   *
   * @return the exit status: 0 if all were accepted
   */
  int publish(List<WorkloadChange> events) throws Exception {
    if (isDry) {
      events.forEach(event -> print(JsonText.line(JsonText.tree(Codec.WORKLOAD_CHANGE, event))));
      return 0;
    }
    quietly(
        () -> {
          try (WorkloadPublisher publisher = WorkloadPublisher.connect(endpoint(), source());
              LateBar bar = bar("Publishing")) {
            for (int from = 0; from < events.size(); from += BATCH) {
              publish(publisher, events.subList(from, Math.min(from + BATCH, events.size())), bar);
            }
            bar.end();
          }
          return null;
        });
    printAll(outcomes, () -> table);
    return accepted == outcomes.size() ? 0 : 1;
  }

  private void publish(WorkloadPublisher publisher, List<WorkloadChange> events, LateBar bar)
      throws InterruptedException {
    lastProgress = System.nanoTime();
    Map<UUID, SentEvent> sent = new LinkedHashMap<>();
    for (WorkloadChange event : events) {
      // An export can hold an id twice, and one event of an id can be pending at a time.
      if (sent.containsKey(event.eventId())) {
        await(sent.values(), bar);
        sent.clear();
      }
      CompletableFuture<Outcome> outcome = publisher.publishAndAwait(event);
      if (outcome.isCompletedExceptionally()) {
        // The cluster or the registry does not answer: the next event would wait for it as well.
        await(sent.values(), bar);
        throw new IllegalStateException(
            "Event %s was not sent, after %,d that were: %s"
                .formatted(event.eventId(), outcomes.size(), failure(outcome)));
      }
      sent.put(event.eventId(), new SentEvent(event, outcome));
    }
    await(sent.values(), bar);
  }

  private static String failure(CompletableFuture<Outcome> outcome) {
    try {
      return String.valueOf(outcome.join());
    } catch (CompletionException e) {
      return Errors.describe(e.getCause());
    }
  }

  private void await(Collection<SentEvent> sent, LateBar bar) throws InterruptedException {
    for (SentEvent each : sent) {
      await(each);
      bar.show(outcomes.size(), 0);
    }
  }

  private void await(SentEvent sent) throws InterruptedException {
    long left = lastProgress + timeout().toNanos() - System.nanoTime();
    String id = sent.event().eventId().toString();
    PublishedOutcome outcome = PublishedOutcome.await(sent.outcome(), left, timeout(), "a planner");
    if (outcome.isDecided()) {
      lastProgress = System.nanoTime();
    }
    accepted += outcome.isAccepted() ? 1 : 0;
    ObjectNode node =
        JsonNodeFactory.instance
            .objectNode()
            .put("event", id)
            .put("workload", sent.event().workloadId());
    outcome.write(node);
    outcomes.add(node);
    table.add(shortId(id), sent.event().workloadId(), outcome.text(), outcome.detail());
  }
}
