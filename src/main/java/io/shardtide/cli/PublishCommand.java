package io.shardtide.cli;

import io.shardtide.client.Outcome;
import io.shardtide.client.PendingChange;
import io.shardtide.client.WorkloadPublisher;
import io.shardtide.domain.WorkloadChange;
import io.shardtide.wire.Codec;
import io.shardtide.wire.JsonLines;
import java.io.BufferedReader;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import picocli.CommandLine.ArgGroup;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/** Publishes changes, and says what became of them. */
@Command(
    name = "publish",
    description =
        "Publishes changes to workloads, waits for what becomes of them, and says so. The exit status is 0 if all were"
            + " accepted.",
    mixinStandardHelpOptions = true)
final class PublishCommand implements Callable<Integer> {
  /** Events that are on their way at a time. */
  private static final int TOGETHER = 1000;

  private static final int SHOWN_ID = 8;

  @Spec private CommandSpec spec;

  @Mixin private ClusterOption cluster;

  @ArgGroup(multiplicity = "1")
  private EventOptions what;

  @Option(
      names = "--source",
      paramLabel = "TEXT",
      defaultValue = "command line",
      description = "Who publishes, for people. Default: ${DEFAULT-VALUE}.")
  private String source;

  @Option(
      names = "--timeout",
      paramLabel = "SECONDS",
      defaultValue = "30",
      description = "How long to wait for what becomes of an event. Default: ${DEFAULT-VALUE}.")
  private int timeout;

  /** A file of events, or one event. */
  private static final class EventOptions {
    @Option(
        names = "--events",
        paramLabel = "FILE",
        description =
            "Events as they are, one a line, in Avro's JSON encoding: what export and demo write.")
    private Path events;

    @ArgGroup(exclusive = false)
    private OneEvent one;
  }

  /** An event, put together from options. */
  private static final class OneEvent {
    @Option(
        names = "--workload",
        required = true,
        paramLabel = "ID",
        description = "The workload of one event, made of the changes that follow.")
    private String workload;

    @Option(
        names = "--upsert",
        paramLabel = "KEY=VALUE,..",
        description =
            "A table that is added or changed: " + SpecTexts.TABLE_KEYS + ". May be repeated.")
    private List<String> upserts = List.of();

    @Option(
        names = "--drop",
        paramLabel = "NAME",
        description = "A table that is gone. May be repeated.")
    private List<String> drops = List.of();

    @Option(
        names = "--cluster",
        paramLabel = "KEY=VALUE,..",
        description = "The devices from now on: " + SpecTexts.CLUSTER_KEYS + ".")
    private String devices;

    @Option(
        names = "--expecting",
        paramLabel = "N",
        description = "The generation that the workload is believed to have.")
    private Long expecting;

    private WorkloadChange event(WorkloadPublisher publisher) {
      PendingChange change = publisher.change(workload);
      if (devices != null) {
        change.cluster(SpecTexts.cluster(devices));
      }
      upserts.forEach(text -> change.upsert(SpecTexts.table(text)));
      drops.forEach(change::drop);
      if (expecting != null) {
        change.expecting(expecting);
      }
      return change.event();
    }
  }

  private final TextTable table = new TextTable("event", "workload", "outcome", "");
  private int published;
  private int accepted;

  private record Sent(WorkloadChange event, CompletableFuture<Outcome> outcome) {}

  @Override
  public Integer call() throws Exception {
    cluster.check(spec);
    try (WorkloadPublisher publisher = WorkloadPublisher.connect(cluster.endpoint(), source);
        LateBar bar = new LateBar("Publishing")) {
      if (what.events == null) {
        publish(publisher, List.of(what.one.event(publisher)), bar);
      } else {
        publish(publisher, what.events, bar);
      }
      bar.end();
    }
    spec.commandLine().getOut().print(table);
    spec.commandLine().getOut().flush();
    return accepted == published ? 0 : 1;
  }

  private void publish(WorkloadPublisher publisher, Path file, LateBar bar)
      throws IOException, InterruptedException {
    JsonLines<WorkloadChange, ?> lines = new JsonLines<>(Codec.WORKLOAD_CHANGE);
    // The whole file is looked at first: half of it is not published because of a wrong line.
    long events = 0;
    for (boolean send : new boolean[] {false, true}) {
      try (BufferedReader in = Files.newBufferedReader(file)) {
        List<WorkloadChange> some = new ArrayList<>();
        long number = 0;
        for (String line = in.readLine(); line != null; line = in.readLine()) {
          number++;
          if (!line.isBlank()) {
            try {
              some.add(lines.read(line));
            } catch (IllegalArgumentException e) {
              throw new IOException("%s, line %d: %s".formatted(file, number, e.getMessage()), e);
            }
          }
          if (some.size() == TOGETHER) {
            events += send ? publish(publisher, some, bar) : 0;
            some.clear();
          }
        }
        events += send ? publish(publisher, some, bar) : 0;
      }
    }
    if (events == 0) {
      throw new IOException(file + " holds no event");
    }
  }

  private int publish(WorkloadPublisher publisher, List<WorkloadChange> events, LateBar bar)
      throws InterruptedException {
    Map<UUID, Sent> sent = new LinkedHashMap<>();
    for (WorkloadChange event : events) {
      // An export holds repeated events too, and one of an id is waited for at a time.
      if (sent.containsKey(event.eventId())) {
        rows(sent.values(), bar);
        sent.clear();
      }
      sent.put(event.eventId(), new Sent(event, publisher.publishAndAwait(event)));
    }
    rows(sent.values(), bar);
    return events.size();
  }

  private void rows(Collection<Sent> sent, LateBar bar) throws InterruptedException {
    for (Sent one : sent) {
      published++;
      row(one, bar);
    }
  }

  private void row(Sent sent, LateBar bar) throws InterruptedException {
    String said;
    String detail = "";
    try {
      Outcome outcome = sent.outcome().get(timeout, TimeUnit.SECONDS);
      if (outcome instanceof Outcome.Rejected rejected) {
        said = rejected.reason().name();
        detail = rejected.message();
      } else {
        Outcome.Accepted as = (Outcome.Accepted) outcome;
        said =
            as.generation().isPresent()
                ? "generation " + as.generation().getAsLong()
                : "accepted, no cluster yet";
        accepted++;
      }
    } catch (TimeoutException e) {
      said = "no answer";
      detail = "in %d s; it is in the log, and applied when a planner runs".formatted(timeout);
    } catch (ExecutionException e) {
      said = "not sent";
      detail = Errors.describe(e.getCause());
    }
    table.add(
        sent.event().eventId().toString().substring(0, SHOWN_ID),
        sent.event().workloadId(),
        said,
        detail);
    bar.show(published, 0);
  }
}
