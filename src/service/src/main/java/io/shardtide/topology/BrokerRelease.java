package io.shardtide.topology;

import java.util.Map;
import java.util.TreeMap;

/**
 * The release of a broker. Kafka's protocol does not name it; a broker says up to which level of
 * the feature metadata.version it works, and each release raises that level ({@code
 * org.apache.kafka.server.common.MetadataVersion}).
 */
final class BrokerRelease {
  /** The feature whose level names the release. */
  static final String FEATURE = "metadata.version";

  /** By level, the first release that has it. */
  private static final TreeMap<Short, String> RELEASES =
      new TreeMap<>(
          Map.ofEntries(
              Map.entry((short) 7, "3.3"),
              Map.entry((short) 8, "3.4"),
              Map.entry((short) 9, "3.5"),
              Map.entry((short) 12, "3.6"),
              Map.entry((short) 15, "3.7"),
              Map.entry((short) 20, "3.8"),
              Map.entry((short) 21, "3.9"),
              Map.entry((short) 22, "4.0"),
              Map.entry((short) 26, "4.1"),
              Map.entry((short) 28, "4.2"),
              Map.entry((short) 30, "4.3 or newer")));

  /** From this level on, KAFKA-20734 may not be repaired. */
  private static final short UNSAFE = 30;

  private BrokerRelease() {}

  /** Returns the release of a broker that works up to a level, such as {@code 4.2}. */
  static String of(short level) {
    Map.Entry<Short, String> release = RELEASES.floorEntry(level);
    return release == null ? "older than 3.3" : release.getValue();
  }

  /** Returns whether a broker may be one that loses committed records: 4.3.0 to 4.4.0. */
  static boolean mayLoseRecords(short level) {
    return level >= UNSAFE;
  }
}
