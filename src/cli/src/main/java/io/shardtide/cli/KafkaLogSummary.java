package io.shardtide.cli;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.LoggerContext;
import ch.qos.logback.classic.turbo.TurboFilter;
import ch.qos.logback.core.spi.FilterReply;
import java.io.PrintWriter;
import java.util.concurrent.TimeUnit;
import org.slf4j.LoggerFactory;
import org.slf4j.Marker;

/**
 * Keeps the warnings of Kafka's and the registry's clients from the terminal while a client command
 * runs. They repeat several times a second while a server is away; the command reports the failure
 * itself. An outage that the command waits out is summarized in a line after 10 s, 20 s, 40 s ...
 */
final class KafkaLogSummary extends TurboFilter implements AutoCloseable {
  private static final long FIRST_SUMMARY_NANOS = TimeUnit.SECONDS.toNanos(10);

  /** Without a warning for so long, an outage is over: clients try again each second. */
  private static final long OUTAGE_GAP_NANOS = TimeUnit.SECONDS.toNanos(10);

  private final String server;
  private final PrintWriter err;
  private long outageBegan;
  private long lastWarning;
  private long nextSummaryNanos = FIRST_SUMMARY_NANOS;
  private long warnings;

  private KafkaLogSummary(String server, PrintWriter err) {
    this.server = server;
    this.err = err;
  }

  /**
   * Starts to keep warnings back, in this process.
   *
   * @param server address of the cluster, for the summary
   * @param err where summaries are printed
   */
  static KafkaLogSummary start(String server, PrintWriter err) {
    KafkaLogSummary summary = new KafkaLogSummary(server, err);
    context().addTurboFilter(summary);
    return summary;
  }

  private static LoggerContext context() {
    return (LoggerContext) LoggerFactory.getILoggerFactory();
  }

  @Override
  public FilterReply decide(
      Marker marker, Logger logger, Level level, String format, Object[] params, Throwable error) {
    String name = logger.getName();
    if (!name.startsWith("org.apache.kafka.") && !name.startsWith("io.confluent.")) {
      return FilterReply.NEUTRAL;
    }
    // Without a format, a caller only asks whether the level is enabled.
    if (format != null && level.isGreaterOrEqual(Level.WARN)) {
      warned(System.nanoTime());
    }
    return FilterReply.DENY;
  }

  private synchronized void warned(long now) {
    if (warnings == 0 || now - lastWarning > OUTAGE_GAP_NANOS) {
      outageBegan = now;
      warnings = 0;
      nextSummaryNanos = FIRST_SUMMARY_NANOS;
    }
    lastWarning = now;
    warnings++;
    if (now - outageBegan >= nextSummaryNanos) {
      err.printf(
          "shardtide: connecting to Kafka at %s has failed for %d s, %d warnings; trying again%n",
          server, TimeUnit.NANOSECONDS.toSeconds(now - outageBegan), warnings);
      err.flush();
      nextSummaryNanos *= 2;
    }
  }

  @Override
  public void close() {
    context().getTurboFilterList().remove(this);
  }
}
