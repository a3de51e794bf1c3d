package io.shardtide.cli;

import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.classic.spi.IThrowableProxy;
import ch.qos.logback.core.filter.Filter;
import ch.qos.logback.core.spi.FilterReply;
import io.micrometer.core.instrument.FunctionCounter;
import io.micrometer.core.instrument.MeterRegistry;
import java.io.PrintWriter;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Keeps log lines of Kafka and of the registry's client from the terminal. Of a service those that
 * are expected and harmless: each is listed here with the reason, counted by line in the metric
 * {@code shardtide_suppressed_log_lines_total}, and logged at level DEBUG. Of a client command all:
 * they repeat several times a second while a server is away, and the command reports the failure.
 */
public final class KafkaWarnings extends Filter<ILoggingEvent> {
  private static final Logger log = LoggerFactory.getLogger(KafkaWarnings.class);

  private static final Map<Line, Long> SUPPRESSED = new ConcurrentHashMap<>();

  /** The client command that runs in this process. */
  private static final AtomicReference<Optional<Outages>> COMMAND =
      new AtomicReference<>(Optional.empty());

  /** Sums an outage that a command waits out up, in a line after 10 s, 20 s, 40 s ... */
  static final class Outages {
    private static final long FIRST_SUMMARY_NANOS = TimeUnit.SECONDS.toNanos(10);

    /** Without a warning for so long, an outage is over: clients try again each second. */
    private static final long GAP_NANOS = TimeUnit.SECONDS.toNanos(10);

    private final String server;
    private final PrintWriter err;
    private long began;
    private long last;
    private long nextSummaryNanos;
    private long warnings;

    /**
     * @param server address of the cluster
     * @param err where lines are printed
     */
    Outages(String server, PrintWriter err) {
      this.server = server;
      this.err = err;
    }

    synchronized void warned(long now) {
      if (warnings == 0 || now - last > GAP_NANOS) {
        began = now;
        warnings = 0;
        nextSummaryNanos = FIRST_SUMMARY_NANOS;
      }
      last = now;
      warnings++;
      if (now - began >= nextSummaryNanos) {
        err.printf(
            "shardtide: connecting to Kafka at %s has failed for %d s, %d warnings; trying again%n",
            server, TimeUnit.NANOSECONDS.toSeconds(now - began), warnings);
        err.flush();
        nextSummaryNanos *= 2;
      }
    }
  }

  /** Says which client command runs from now on; empty for none. */
  static void of(Optional<Outages> command) {
    COMMAND.set(command);
  }

  /** A line that is suppressed. The first five come from a broker in this process only. */
  enum Line {
    /** A new broker formats its metadata log: QuorumController activates on an empty log. */
    EMPTY_METADATA_LOG("QuorumController", "The metadata log appears to be empty"),

    /** A new broker has no controller for a moment; ControllerApis answers NOT_CONTROLLER once. */
    CONTROLLER_ELECTION("ControllerApis", "The active controller appears to be node"),

    /** Several producers begin their first transactions at once, and each asks for the topic. */
    TRANSACTION_TOPIC_EXISTS(
        "DefaultAutoTopicCreationManager", "Topic '__transaction_state' already exists"),

    /** Several groups form at once, and each asks for the topic. */
    OFFSETS_TOPIC_EXISTS(
        "DefaultAutoTopicCreationManager", "Topic '__consumer_offsets' already exists"),

    /** NetworkClient.close() does nothing the second time; the broker's shutdown calls it twice. */
    CLOSED_TWICE("NetworkClient", "Attempting to close NetworkClient that has already been closed"),

    /**
     * A producer has several batches in flight when a transaction begins. The broker refuses the
     * first with CONCURRENT_TRANSACTIONS, and so must refuse those after it
     * (ProducerAppendInfo.checkSequence, KIP-890); nothing is written out of order, and the
     * producer sends them again in order. Of a broker elsewhere nobody sees this line; the
     * producer's own (OUT_OF_ORDER_SEQUENCE_NUMBER) is never suppressed unless this one came first.
     */
    BATCH_BEFORE_ITS_TURN("ReplicaManager", "idempotent producer with no existing state"),

    /** The producer's half of {@link #BATCH_BEFORE_ITS_TURN}, once for each of the broker's. */
    BATCH_RETRIED("Sender", "Error: OUT_OF_ORDER_SEQUENCE_NUMBER"),

    /**
     * A transaction begins while the broker still completes the one before; retriable by definition
     * (KIP-890, Errors.CONCURRENT_TRANSACTIONS), and the producer sends again.
     */
    PREVIOUS_TRANSACTION("Sender", "Error: CONCURRENT_TRANSACTIONS"),

    /** Planners have no racks; StickyTaskAssignor says so twice in each rebalance. */
    NO_RACKS("TaskAssignmentUtils", "rack aware strategy was set to none"),

    /** Temporary folders of the demo and the benchmarks, which are deleted at the end. */
    TEMPORARY_STATE("StateDirectory", "Using an OS temp directory in the state.dir", "/shardtide-"),

    /**
     * The handler is missing for global stores only, whose processor copies bytes (LatestRecords).
     */
    NO_GLOBAL_THREAD("StreamsConfig", "exception handler is not enabled for the GlobalThread"),

    /**
     * One line an attempt. The caller of the registry logs the outage and health shows it
     * (RegistryRetry, Retry, ServiceHealth).
     */
    REGISTRY_ATTEMPT("RestService", "Failed to send HTTP request to endpoint"),
    /** The same. */
    REGISTRY_FAILOVER("RestService", "Failing over to next URL if available"),

    /**
     * endOffsets() on partitions that the consumer no longer has: OffsetFetcherUtils skips its own
     * bookkeeping and returns the offset all the same (KAFKA-20131).
     */
    UNASSIGNED_PARTITION("OffsetFetcherUtils", "as it is no longer assigned"),

    /** A planner without another one to keep standby replicas; standby.replicas says so. */
    NO_STANDBY_INSTANCE("StickyTaskAssignor", "standby tasks for task");

    private final String logger;
    private final String text;
    private final String also;

    Line(String logger, String text) {
      this(logger, text, "");
    }

    /**
     * @param logger simple name of the class that logs it
     * @param text part of its message or of its exception's
     * @param also another part
     */
    Line(String logger, String text, String also) {
      this.logger = logger;
      this.text = text;
      this.also = also;
    }

    private long suppressed() {
      return SUPPRESSED.getOrDefault(this, 0L);
    }

    private boolean matches(String name, ILoggingEvent event) {
      return name.equals(logger) && contains(event, text) && contains(event, also);
    }

    private boolean isExpected() {
      return this != BATCH_RETRIED || suppressed() < BATCH_BEFORE_ITS_TURN.suppressed();
    }
  }

  /** Adds the counters. */
  static void bindTo(MeterRegistry meters) {
    for (Line line : Line.values()) {
      FunctionCounter.builder("shardtide.suppressed.log.lines", line, Line::suppressed)
          .description("Log lines of Kafka and the registry's client that were expected")
          .tag("line", line.name().toLowerCase(Locale.ROOT))
          .register(meters);
    }
  }

  @Override
  public FilterReply decide(ILoggingEvent event) {
    String name = event.getLoggerName();
    Optional<Outages> command = COMMAND.get();
    if (command.isPresent() && name.matches("(org\\.apache\\.kafka|io\\.confluent)\\..*")) {
      command.get().warned(System.nanoTime());
      return FilterReply.DENY;
    }
    String simpleName = name.substring(name.lastIndexOf('.') + 1);
    for (Line line : Line.values()) {
      if (line.matches(simpleName, event) && line.isExpected()) {
        SUPPRESSED.merge(line, 1L, Long::sum);
        log.debug("Suppressed {}: {}", line, event.getFormattedMessage());
        return FilterReply.DENY;
      }
    }
    return FilterReply.NEUTRAL;
  }

  private static boolean contains(ILoggingEvent event, String text) {
    if (event.getFormattedMessage().contains(text)) {
      return true;
    }
    for (IThrowableProxy e = event.getThrowableProxy(); e != null; e = e.getCause()) {
      if (e.getMessage() != null && e.getMessage().contains(text)) {
        return true;
      }
    }
    return false;
  }
}
