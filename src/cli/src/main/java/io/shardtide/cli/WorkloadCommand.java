package io.shardtide.cli;

import io.shardtide.files.MalformedFileException;
import io.shardtide.files.TextFiles;
import io.shardtide.wire.Codec;
import io.shardtide.wire.JsonLines;
import io.shardtide.workload.Change;
import io.shardtide.workload.WorkloadChange;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** Changes workloads, and shows them. */
@Command(
    name = "workload",
    description = "Changes workloads, and shows them.",
    footer = {"", "Example:", "  shardtide workload apply -f workloads.jsonl"})
final class WorkloadCommand {
  @Command(
      name = "apply",
      description =
          "Publishes changes to workloads and prints the planner's decision on each event. The exit"
              + " status is 0 if all were accepted.",
      footer = {
        "",
        "Examples:",
        "  shardtide workload apply -f backup/events.jsonl",
        "  shardtide workload apply ads --drop user"
      })
  int apply(
      @Mixin EventOption on,
      @Parameters(
              paramLabel = "WORKLOAD",
              arity = "0..1",
              description = "The workload of one event, which the options below say.")
          String workload,
      @Option(
              names = {"-f", "--file"},
              paramLabel = "FILE",
              description =
                  "A file of events, one a line in Avro's JSON encoding, as log export and demo"
                      + " write it.")
          Path file,
      @Option(
              names = "--drop",
              paramLabel = "TABLE",
              description = "A table to drop. May be repeated.")
          List<String> drops,
      @Option(names = "--upsert", hidden = true, paramLabel = "KEY=VALUE,..") List<String> upserts,
      @Option(names = "--cluster", hidden = true, paramLabel = "KEY=VALUE,..") String cluster)
      throws Exception {
    if ((file == null) == (workload == null)) {
      throw on.wrong("workload apply needs either -f FILE, or WORKLOAD with what changes");
    }
    if (file != null) {
      return on.publish(read(file));
    }
    List<Change> changes = new ArrayList<>();
    if (cluster != null) {
      changes.add(new Change.ClusterSet(SpecTexts.cluster(cluster)));
    }
    all(upserts).forEach(text -> changes.add(new Change.TableUpserted(SpecTexts.table(text))));
    all(drops).forEach(name -> changes.add(new Change.TableDropped(name)));
    return on.publish(List.of(on.event(workload, changes)));
  }

  private static List<String> all(List<String> given) {
    return given == null ? List.of() : given;
  }

  /** Reads a file once: it may be a pipe. */
  private static List<WorkloadChange> read(Path file) throws IOException {
    JsonLines<WorkloadChange, ?> lines = new JsonLines<>(Codec.WORKLOAD_CHANGE);
    List<WorkloadChange> events = new ArrayList<>();
    TextFiles.readLines(
        file,
        line -> {
          if (!line.isBlank()) {
            WorkloadChange event = lines.read(line);
            event.checkDistinct();
            events.add(event);
          }
        });
    if (events.isEmpty()) {
      throw new MalformedFileException(file, 0, "it must hold an event a line, and holds none");
    }
    return events;
  }

  @Command(
      name = "delete",
      description = "Deletes a workload: its tables, its cluster and its plans.",
      footer = {"", "Example:", "  shardtide workload delete ads --reason over"})
  int delete(
      @Mixin EventOption on,
      @Parameters(paramLabel = "WORKLOAD", description = "Id of the workload.") String workload,
      @Option(
              names = "--reason",
              paramLabel = "TEXT",
              defaultValue = "",
              description = "Why, for people.")
          String reason)
      throws Exception {
    return on.publish(List.of(on.event(workload, List.of(new Change.WorkloadDeleted(reason)))));
  }
}
