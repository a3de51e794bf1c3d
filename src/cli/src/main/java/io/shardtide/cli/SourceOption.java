package io.shardtide.cli;

import picocli.CommandLine.Option;

/** The options of commands that publish events. */
class SourceOption extends ClusterOption {
  private static final int SHOWN_ID = 8;

  @Option(
      names = "--source",
      paramLabel = "TEXT",
      defaultValue = "command line",
      description = "Shown as the author of the change. Default: ${DEFAULT-VALUE}.")
  private String source;

  final String source() {
    return source;
  }

  /** Returns as much of an event's id as tables of outcomes show. */
  static String shortId(String eventId) {
    return eventId.substring(0, SHOWN_ID);
  }
}
