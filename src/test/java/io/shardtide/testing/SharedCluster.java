package io.shardtide.testing;

import io.shardtide.embedded.DevelopmentRegistry;
import io.shardtide.embedded.EmbeddedKafka;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
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

  /** Returns the registry, which keeps its schemas in memory. */
  public static synchronized DevelopmentRegistry registry() {
    if (registry == null) {
      try {
        registry = DevelopmentRegistry.start(0, Optional.empty());
      } catch (IOException e) {
        throw new UncheckedIOException(e);
      }
    }
    return registry;
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
      }
      if (kafka != null) {
        kafka.close();
        kafka = null;
        try (Stream<Path> files = Files.walk(folder)) {
          for (Path file : files.sorted((a, b) -> b.compareTo(a)).toList()) {
            Files.delete(file);
          }
        }
      }
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }
}
