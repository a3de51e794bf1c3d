package io.shardtide.cli;

import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.shardtide.client.Outcome;
import io.shardtide.client.WorkloadPublisher;
import io.shardtide.files.MalformedFileException;
import io.shardtide.files.TextFiles;
import io.shardtide.wire.Codec;
import io.shardtide.wire.JsonLines;
import io.shardtide.workload.Change;
import io.shardtide.workload.WorkloadChange;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import java.util.UUID;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import picocli.CommandLine.ArgGroup;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/** Publishes events, and prints their outcomes. */
@Command(
    name = "publish",
    description =
        "Publishes changes to workloads and prints the planner's decision on each event. The exit"
            + " status is 0 if all were accepted.",
    footer = {
      "",
      "Example:",
      "  shardtide publish --bootstrap kafka:9092 \\",
      "    --registry http://registry:8081 --workload ads \\",
      "    --cluster devices=8,memoryGib=141,batchSize=65536,hardware=h200 \\",
      "    --upsert name=user,rows=1000000,columns=64,poolingFactor=5"
    },
    mixinStandardHelpOptions = true)
final class PublishCommand implements Callable<Integer> {
  /** Events that are pending at a time. */
  private static final int BATCH = 1000;

  private static final int SHOWN_ID = 8;

  @Spec private CommandSpec spec;

  @Mixin private ClusterOption cluster;

  @ArgGroup(multiplicity = "1")
  private EventOptions what;

  @Option(
      names = "--source",
      paramLabel = "TEXT",
      defaultValue = "command line",
      description = "Name of the publisher, for people. Default: ${DEFAULT-VALUE}.")
  private String source;

  /** A file of events, or one event. */
  private static final class EventOptions {
    @Option(
        names = "--events",
        paramLabel = "FILE",
        description =
            "A file of events, one a line in Avro's JSON encoding, as export and demo write it.")
    private Path events;

    @ArgGroup(exclusive = false)
    private OneEvent one;
  }

  /** An event that is built from options. */
  private static final class OneEvent {
    @Option(
        names = "--workload",
        required = true,
        paramLabel = "ID",
        description = "The workload of one event, which is built from the options below.")
    private String workload;

    @Option(
        names = "--upsert",
        paramLabel = "KEY=VALUE,..",
        description = "A table to add or change: " + SpecTexts.TABLE_KEYS + ". May be repeated.")
    private List<String> upserts = List.of();

    @Option(
        names = "--drop",
        paramLabel = "NAME",
        description = "A table to drop. May be repeated.")
    private List<String> drops = List.of();

    @Option(
        names = "--resize",
        paramLabel = "NAME=ROWS",
        description = "A hashed table to give so many slots, and nothing else. May be repeated.")
    private List<String> resizes = List.of();

    @Option(
        names = "--resize-reason",
        paramLabel = "TEXT",
        description = "Why tables are resized, for people: plans tell it.")
    private String resizeReason;

    @Option(
        names = "--delete",
        paramLabel = "REASON",
        description =
            "Deletes the workload: its tables, its cluster and its plans. No other change with it.")
    private String deletion;

    @Option(
        names = "--cluster",
        paramLabel = "KEY=VALUE,..",
        description = "The workload's devices: " + SpecTexts.CLUSTER_KEYS + ".")
    private String devices;

    @Option(
        names = "--expecting",
        paramLabel = "N",
        description =
            "The generation that the workload must have before; another publisher's change rejects"
                + " the event.")
    private Long expecting;

    private WorkloadChange event(String source) {
      List<Change> changes = new ArrayList<>();
      if (devices != null) {
        changes.add(new Change.ClusterSet(SpecTexts.cluster(devices)));
      }
      upserts.forEach(text -> changes.add(new Change.TableUpserted(SpecTexts.table(text))));
      drops.forEach(name -> changes.add(new Change.TableDropped(name)));
      String reason = resizeReason == null ? "" : resizeReason;
      resizes.forEach(text -> changes.add(SpecTexts.resize(text, reason)));
      if (resizeReason != null && resizes.isEmpty()) {
        throw new IllegalArgumentException("--resize-reason needs --resize");
      }
      if (deletion != null) {
        changes.add(new Change.WorkloadDeleted(deletion));
      }
      WorkloadChange event =
          new WorkloadChange(
              UUID.randomUUID(),
              workload,
              Instant.now(),
              source,
              expecting == null ? OptionalLong.empty() : OptionalLong.of(expecting),
              changes);
      event.checkDistinct();
      return event;
    }
  }

  @Option(
      names = "--json",
      description = "Print the outcomes as JSON, an array of one object for each event.")
  private boolean json;

  private final ArrayNode outcomes = JsonNodeFactory.instance.arrayNode();
  private final TextTable table = new TextTable("event", "workload", "outcome", "");
  private long published;
  private long accepted;

  /** When an outcome, or else the first event, was last seen, by {@link System#nanoTime}. */
  private long lastProgress;

  private record SentEvent(WorkloadChange event, CompletableFuture<Outcome> outcome) {}

  @Override
  public Integer call() throws Exception {
    cluster.check(spec);
    // Values first: nothing is published, and no server waited for, if one is wrong.
    List<WorkloadChange> events =
        what.one == null ? read(what.events) : List.of(what.one.event(source));
    KafkaLogSummary quietLog = cluster.quietLog();
    try (WorkloadPublisher publisher = WorkloadPublisher.connect(cluster.endpoint(), source);
        LateBar bar = new LateBar("Publishing")) {
      for (int from = 0; from < events.size(); from += BATCH) {
        publish(publisher, events.subList(from, Math.min(from + BATCH, events.size())), bar);
      }
      bar.end();
    } finally {
      quietLog.close();
    }
    spec.commandLine().getOut().print(json ? JsonText.pretty(outcomes) : table.toString());
    spec.commandLine().getOut().flush();
    return accepted == published ? 0 : 1;
  }

  /** Reads a file once: it may be a pipe. */
  private static List<WorkloadChange> read(Path file) throws IOException {
    JsonLines<WorkloadChange, ?> lines = new JsonLines<>(Codec.WORKLOAD_CHANGE);
    List<WorkloadChange> events = new ArrayList<>();
    TextFiles.readLines(
        file,
        line -> {
          if (!line.isBlank()) {
            WorkloadChange event = lines.read(line);
            event.checkDistinct();
            events.add(event);
          }
        });
    if (events.isEmpty()) {
      throw new MalformedFileException(file, 0, "it must hold an event a line, and holds none");
    }
    return events;
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
                .formatted(event.eventId(), published, failure(outcome)));
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
      published++;
      await(each);
      bar.show(published, 0);
    }
  }

  private void await(SentEvent sent) throws InterruptedException {
    long left = lastProgress + cluster.timeout().toNanos() - System.nanoTime();
    ObjectNode node =
        outcomes
            .addObject()
            .put("event", sent.event().eventId().toString())
            .put("workload", sent.event().workloadId());
    PublishedOutcome outcome =
        PublishedOutcome.await(sent.outcome(), left, cluster.timeout(), "a planner");
    if (outcome.isDecided()) {
      lastProgress = System.nanoTime();
    }
    if (outcome.isAccepted()) {
      accepted++;
    }
    outcome.write(node);
    table.add(
        sent.event().eventId().toString().substring(0, SHOWN_ID),
        sent.event().workloadId(),
        outcome.text(),
        outcome.detail());
  }
}
