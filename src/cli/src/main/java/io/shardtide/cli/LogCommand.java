package io.shardtide.cli;

import io.shardtide.replay.Export;
import io.shardtide.replay.LogRecords;
import io.shardtide.replay.RefusedException;
import io.shardtide.replay.WithoutPools;
import java.io.PrintWriter;
import java.nio.file.Path;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.Callable;
import java.util.stream.Collectors;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/** Writes the log to files. */
@Command(
    name = "export",
    description = {
      "Writes the records that a replay needs from a cluster to a folder: events.jsonl,"
          + " predictions.jsonl, statuses.jsonl, speeds.jsonl, plans.jsonl, infeasible.jsonl (one"
          + " record a line, in Avro's JSON encoding), models/ID.avro. With pools, also"
          + " pool-changes.jsonl, throughput-curves.jsonl, allocations.jsonl; with tables that grow,"
          + " fills.jsonl, forecasts.jsonl.",
      "Reads the records that were committed when it started; writes nothing to the cluster."
    },
    footer = {
      "",
      "Example:",
      "  shardtide export --bootstrap kafka:9092 \\",
      "    --registry http://registry:8081 --out backup"
    },
    mixinStandardHelpOptions = true)
final class ExportCommand implements Callable<Integer> {
  @Spec private CommandSpec spec;

  @Mixin private ClusterOption cluster;

  @Option(
      names = "--workload",
      paramLabel = "ID",
      description = "Only this workload, and no pools. Default: all.")
  private String workload;

  @Option(names = "--out", required = true, paramLabel = "DIR", description = "The folder.")
  private Path out;

  @Override
  public Integer call() throws Exception {
    cluster.check(spec);
    PrintWriter report = spec.commandLine().getOut();
    long[] read = {0};
    long[] size = {0};
    try (LateBar bar = new LateBar("Exporting");
        ClusterOption.Connection connection =
            cluster.connect(Optional.ofNullable(workload), () -> bar.show(++read[0], size[0]))) {
      size[0] = connection.records().size();
      LogRecords records =
          workload == null ? connection.records() : new WithoutPools(connection.records());
      Map<String, Integer> counts = Export.write(records, out);
      if (counts.isEmpty()) {
        throw new RefusedException(
            "The cluster has no events%s: nothing was written"
                .formatted(
                    workload == null
                        ? " in topics with this --prefix"
                        : " of workload \"%s\"".formatted(workload)));
      }
      connection.records().notes().forEach(note -> report.println("note: " + note));
      report.printf(
          "%s in %s%n",
          counts.entrySet().stream()
              .map(e -> "%,d %s".formatted(e.getValue(), e.getKey()))
              .collect(Collectors.joining(", ")),
          out);
    }
    return 0;
  }
}
