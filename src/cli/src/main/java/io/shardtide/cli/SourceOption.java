package io.shardtide.cli;

import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.shardtide.client.Outcome;
import io.shardtide.client.Publisher;
import java.util.ArrayList;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.Function;
import picocli.CommandLine.Option;

/**
 * The options of commands that publish events, and how they publish them.
 *
 * @param <E> type of the events
 */
abstract class SourceOption<E> extends ClusterOption {
  /** Events that are pending at a time. */
  private static final int BATCH = 1000;

  private static final int SHOWN_ID = 8;

  @Option(
      names = "--source",
      paramLabel = "TEXT",
      defaultValue = "command line",
      description = "Shown as the author of the change. Default: ${DEFAULT-VALUE}.")
  private String source;

  /** What became of each event. */
  final List<ObjectNode> outcomes = new ArrayList<>();

  private final String keyName;
  private final String planner;
  private final Function<E, UUID> idOf;
  private final Function<E, String> keyOf;

  /** When an outcome, or else the first event, was last seen, by {@link System#nanoTime}. */
  private long lastProgress;

  private record SentEvent<E>(E event, CompletableFuture<Outcome> outcome) {}

  /**
   * @param keyName what the events change
   * @param planner which planner applies them, for people
   */
  SourceOption(String keyName, String planner, Function<E, UUID> idOf, Function<E, String> keyOf) {
    this.keyName = keyName;
    this.planner = planner;
    this.idOf = idOf;
    this.keyOf = keyOf;
  }

  final String source() {
    return source;
  }

  /** Publishes events, and waits for the planner's decision on each; returns those accepted. */
  final List<Outcome.Accepted> publish(Publisher<E> publisher, List<E> events)
      throws InterruptedException {
    List<Outcome.Accepted> accepted = new ArrayList<>();
    try (LateBar bar = bar("Publishing")) {
      for (int from = 0; from < events.size(); from += BATCH) {
        lastProgress = System.nanoTime();
        Map<UUID, SentEvent<E>> sent = new LinkedHashMap<>();
        for (E event : events.subList(from, Math.min(from + BATCH, events.size()))) {
          // An export can hold an id twice, and one event of an id can be pending at a time.
          if (sent.containsKey(idOf.apply(event))) {
            await(sent.values(), accepted, bar);
            sent.clear();
          }
          CompletableFuture<Outcome> outcome = publisher.publishAndAwait(event);
          if (outcome.isCompletedExceptionally()) {
            // The cluster or the registry does not answer: the next would wait for it as well.
            await(sent.values(), accepted, bar);
            throw new IllegalStateException(
                "Event %s was not sent, after %,d that were: %s"
                    .formatted(idOf.apply(event), outcomes.size(), failure(outcome)));
          }
          sent.put(idOf.apply(event), new SentEvent<>(event, outcome));
        }
        await(sent.values(), accepted, bar);
      }
    }
    return accepted;
  }

  private static String failure(CompletableFuture<Outcome> outcome) {
    try {
      return String.valueOf(outcome.join());
    } catch (CompletionException e) {
      return Errors.describe(e.getCause());
    }
  }

  private void await(Collection<SentEvent<E>> sent, List<Outcome.Accepted> accepted, LateBar bar)
      throws InterruptedException {
    for (SentEvent<E> each : sent) {
      long left = lastProgress + timeout().toNanos() - System.nanoTime();
      try {
        Outcome outcome = each.outcome().get(Math.max(0, left), TimeUnit.NANOSECONDS);
        lastProgress = System.nanoTime();
        if (outcome instanceof Outcome.Accepted of) {
          accepted.add(of);
          accepted(each.event(), of);
        } else if (outcome instanceof Outcome.Rejected of) {
          add(each.event(), "rejected", of.message()).put("reason", of.reason().name());
        }
      } catch (TimeoutException e) {
        String wait = "within %d s; the event is on the log and will be applied when %s runs";
        String detail = wait.formatted(timeout().toSeconds(), planner);
        add(each.event(), "no outcome", detail);
      } catch (ExecutionException e) {
        add(each.event(), "not sent", Errors.describe(e.getCause()));
      }
      bar.show(outcomes.size(), 0);
    }
  }

  private void accepted(E event, Outcome.Accepted outcome) {
    String detail =
        outcome
            .proxyHardware()
            .map("warning: costs of %s until its hardware is measured"::formatted)
            .orElse("");
    ObjectNode node = add(event, "accepted", detail);
    outcome.generation().ifPresent(generation -> node.put("generation", generation));
  }

  private ObjectNode add(E event, String outcome, String detail) {
    ObjectNode node =
        JsonNodeFactory.instance
            .objectNode()
            .put("event", idOf.apply(event).toString())
            .put(keyName, keyOf.apply(event))
            .put("outcome", outcome);
    outcomes.add(detail.isEmpty() ? node : node.put("message", detail));
    return node;
  }

  /** Returns a row for each event. */
  final Table<ObjectNode> table() {
    return new Table<>(outcomes)
        .left("event", of -> of.get("event").textValue().substring(0, SHOWN_ID))
        .left(keyName, of -> of.get(keyName).textValue())
        .left("outcome", SourceOption::shown)
        .left("", of -> of.path("message").asText());
  }

  private static String shown(ObjectNode of) {
    String outcome = of.get("outcome").textValue();
    if (outcome.equals("accepted")) {
      return of.has("generation")
          ? "generation " + of.get("generation").longValue()
          : "accepted, no cluster";
    }
    return of.path("reason").asText(outcome);
  }
}
