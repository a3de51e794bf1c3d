package io.shardtide.testing;

import io.shardtide.embedded.DevelopmentRegistry;
import io.shardtide.embedded.EmbeddedKafka;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Comparator;
import java.util.Optional;
import java.util.UUID;
import java.util.stream.Stream;
import org.junit.platform.launcher.LauncherSession;
import org.junit.platform.launcher.LauncherSessionListener;

/**
 * The broker and the registry of this process, for all tests that need nothing special of them. A
 * test closes neither, stops neither, and uses a {@link #freshPrefix}. They start when the first
 * test asks, and end with the last.
 */
public final class SharedCluster implements LauncherSessionListener {
  private static Path folder;
  private static Path schemas;
  private static EmbeddedKafka kafka;
  private static DevelopmentRegistry registry;

  /** Returns the broker: one, without users, with Kafka's defaults. */
  public static synchronized EmbeddedKafka kafka() {
    if (kafka == null) {
      try {
        folder = Files.createTempDirectory("shared-kafka");
        kafka = EmbeddedKafka.start(folder);
      } catch (IOException e) {
        throw new UncheckedIOException(e);
      }
    }
    return kafka;
  }

  /** Returns the registry. */
  public static synchronized DevelopmentRegistry registry() {
    if (registry == null) {
      try {
        schemas = Files.createTempDirectory("shared-registry");
        registry = DevelopmentRegistry.start(0, Optional.of(schemas));
      } catch (IOException e) {
        throw new UncheckedIOException(e);
      }
    }
    return registry;
  }

  /** Starts a registry that has the schemas of the shared one, and may be stopped. */
  public static synchronized DevelopmentRegistry anotherRegistry(int port) throws IOException {
    return DevelopmentRegistry.start(port, Optional.of(schemas));
  }

  /** Returns a prefix of topics, groups and subjects that no other test has. */
  public static String freshPrefix() {
    return "t" + UUID.randomUUID().toString().substring(0, 8) + ".";
  }

  @Override
  public void launcherSessionClosed(LauncherSession session) {
    close();
  }

  private static synchronized void close() {
    try {
      if (registry != null) {
        registry.close();
        registry = null;
        delete(schemas);
      }
      if (kafka != null) {
        kafka.close();
        kafka = null;
        delete(folder);
      }
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private static void delete(Path folder) throws IOException {
    try (Stream<Path> files = Files.walk(folder)) {
      for (Path file : files.sorted(Comparator.reverseOrder()).toList()) {
        Files.delete(file);
      }
    }
  }
}
