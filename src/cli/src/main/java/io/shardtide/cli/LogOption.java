package io.shardtide.cli;

import io.shardtide.replay.ExportFolder;
import io.shardtide.replay.LogRecords;
import java.io.IOException;
import java.nio.file.Path;
import java.util.Optional;

/** The options of commands that read a log: a cluster's, or an exported one. */
final class LogOption extends ClusterOption {
  /** What the option of an exported log is, for several commands. */
  static final String EXPORTED =
      "An exported log: its folder or its file of events, instead of the log of a cluster.";

  /** What is done with a log. */
  @FunctionalInterface
  interface Use<T> {
    /** Uses the records while they can be read. */
    T of(LogRecords records) throws IOException;
  }

  /** A cluster is needed only without an export. */
  @Override
  void check() {
    // Checked when the log is read.
  }

  /**
   * Reads a log.
   *
   * @param path a folder of an export, or its file of events; null for that of the cluster
   * @param workload whose records are read of a cluster; empty for all
   * @param bar shows how many records of a cluster were read
   */
  <T> T read(Path path, Optional<String> workload, LateBar bar, Use<T> use) throws IOException {
    if (path != null) {
      if (isGiven()) {
        throw wrong("give either an exported log or --bootstrap-server with --registry");
      }
      return use.of(ExportFolder.of(path));
    }
    super.check();
    long[] read = {0};
    try (bar;
        KafkaLogRecords records =
            KafkaLogRecords.open(endpoint(), workload, () -> bar.show(++read[0], 0))) {
      T result = use.of(records);
      bar.end();
      records.notes().forEach(note -> note("note: " + note));
      return result;
    }
  }
}
