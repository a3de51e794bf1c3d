package io.shardtide.cli;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.LoggerContext;
import ch.qos.logback.classic.encoder.PatternLayoutEncoder;
import ch.qos.logback.classic.spi.Configurator;
import ch.qos.logback.classic.spi.ConfiguratorRank;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.ConsoleAppender;
import ch.qos.logback.core.spi.ContextAwareBase;
import org.slf4j.Logger;

/**
 * Configures logging: warnings, and what Shardtide itself says, to standard error, so that what a
 * command prints can be piped. {@code -Dlogback.configurationFile=FILE} replaces it.
 *
 * <p>In Java instead of XML: reading a {@code logback.xml} takes a fifth of a second of a process
 * that begins.
 */
@ConfiguratorRank(ConfiguratorRank.CUSTOM_NORMAL_PRIORITY)
public final class LoggingConfigurator extends ContextAwareBase implements Configurator {
  private static final String PATTERN = "%d{HH:mm:ss.SSS} %-5level %logger{0} - %msg%n%ex{short}";

  @Override
  public ExecutionStatus configure(LoggerContext context) {
    if (System.getProperty("logback.configurationFile") != null) {
      return ExecutionStatus.INVOKE_NEXT_IF_ANY;
    }
    KafkaWarnings filter = new KafkaWarnings();
    filter.setContext(context);
    filter.start();
    PatternLayoutEncoder encoder = new PatternLayoutEncoder();
    encoder.setContext(context);
    encoder.setPattern(PATTERN);
    encoder.start();
    ConsoleAppender<ILoggingEvent> appender = new ConsoleAppender<>();
    appender.setContext(context);
    appender.setEncoder(encoder);
    appender.setName("stderr");
    appender.setTarget("System.err");
    appender.addFilter(filter);
    appender.start();
    context.getLogger(Logger.ROOT_LOGGER_NAME).setLevel(Level.WARN);
    context.getLogger(Logger.ROOT_LOGGER_NAME).addAppender(appender);
    context.getLogger("io.shardtide").setLevel(Level.INFO);
    // It logs as Kafka Streams, whose class it extends.
    context.getLogger("io.shardtide.topology.MeteredStreams").setLevel(Level.WARN);
    return ExecutionStatus.DO_NOT_INVOKE_NEXT_IF_ANY;
  }
}
