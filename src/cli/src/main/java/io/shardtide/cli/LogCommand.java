package io.shardtide.cli;

import io.shardtide.replay.Export;
import io.shardtide.replay.LogRecords;
import io.shardtide.replay.RefusedException;
import io.shardtide.replay.SomeRecords;
import java.io.IOException;
import java.nio.file.Path;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Collectors;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** Writes the log to files, and computes it again. */
@Command(
    name = "log",
    description = "Exports the log, and recomputes the plans in it.",
    subcommands = LogReplay.class,
    footer = {"", "Example:", "  shardtide log export backup"})
final class LogCommand {
  @Command(
      name = "export",
      description = {
        "Writes the records that a replay needs from a cluster to a folder: events.jsonl,"
            + " predictions.jsonl, statuses.jsonl, speeds.jsonl, plans.jsonl, infeasible.jsonl (one"
            + " record a line, in Avro's JSON encoding), models/ID.avro. With pools, also"
            + " pool-changes.jsonl, throughput-curves.jsonl, allocations.jsonl; with tables that"
            + " grow, fills.jsonl, forecasts.jsonl.",
        "Reads the records that were committed when it started; writes nothing to the cluster."
      },
      footer = {"", "Example:", "  shardtide log export backup"})
  int export(
      @Mixin ClusterOption on,
      @Parameters(paramLabel = "DIR", description = "The folder.") Path folder,
      @Option(
              names = "--workload",
              paramLabel = "ID",
              description = "Only this workload, and no pools. Default: all.")
          String workload)
      throws IOException {
    long[] read = {0};
    long[] size = {0};
    try (LateBar bar = on.bar("Exporting");
        KafkaLogRecords records =
            KafkaLogRecords.open(
                on.endpoint(), Optional.ofNullable(workload), () -> bar.show(++read[0], size[0]))) {
      size[0] = records.size();
      Map<String, Integer> counts =
          Export.write(
              new SomeRecords(
                  records, kind -> workload == null || !LogRecords.isOfPools(kind), of -> of),
              folder);
      if (counts.isEmpty()) {
        throw new RefusedException(
            "The cluster has no events%s: nothing was written"
                .formatted(
                    workload == null
                        ? " in topics with this --prefix"
                        : " of workload \"%s\"".formatted(workload)));
      }
      // Offsets of transactions' marks have no records.
      bar.show(size[0], size[0]);
      bar.end();
      records.notes().forEach(note -> on.note("note: " + note));
      on.print(
          counts,
          () ->
              "%s in %s%n"
                  .formatted(
                      counts.entrySet().stream()
                          .map(e -> "%,d %s".formatted(e.getValue(), e.getKey()))
                          .collect(Collectors.joining(", ")),
                      folder));
    }
    return 0;
  }
}
