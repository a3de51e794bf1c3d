package io.shardtide.cli;

import io.shardtide.client.ForecastReader;
import io.shardtide.growth.TableForecasts;
import io.shardtide.growth.WhatIfGrowth;
import io.shardtide.replay.RefusedException;
import io.shardtide.wire.Codec;
import io.shardtide.wire.JsonLines;
import io.shardtide.workload.Names;
import io.shardtide.workload.RejectionReason;
import java.io.IOException;
import java.io.PrintWriter;
import java.util.Collection;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.SortedMap;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/** Shows how full hashed tables are, and when they will be full. */
@Command(
    name = "forecasts",
    description = {
      "Shows how many ids hashed tables have and will have, when they are full, and when memory no"
          + " longer holds them. The planner needs growth.enabled=true.",
      "Each range is meant to hold in nine of ten cases. Days count from the report, whose time is"
          + " shown."
    },
    footer = {
      "",
      "Example:",
      "  shardtide forecasts --bootstrap kafka:9092 \\",
      "    --registry http://registry:8081 --workload ads",
      "  shardtide forecasts --bootstrap kafka:9092 \\",
      "    --registry http://registry:8081 --growth 2"
    },
    mixinStandardHelpOptions = true)
final class ForecastsCommand implements Callable<Integer> {
  @Spec private CommandSpec spec;

  @Mixin private ClusterOption cluster;

  @Option(
      names = "--workload",
      paramLabel = "ID",
      description = "Only the tables of this workload.")
  private Optional<String> workload;

  @Option(
      names = "--growth",
      paramLabel = "FACTOR",
      description =
          "What would be forecast if tables grew FACTOR times as fast from their reports on, 0 to"
              + " 1000; 2 if growth doubles.")
  private Optional<Double> growth;

  @Option(
      names = "--json",
      description =
          "Print a line with the TableForecasts in Avro's JSON encoding for each workload, instead"
              + " of a table.")
  private boolean asJson;

  @Override
  public Integer call() throws IOException {
    cluster.check(spec);
    workload.ifPresent(id -> Names.check(id, "workload id", RejectionReason.INVALID_WORKLOAD_ID));
    growth.ifPresent(factor -> WhatIfGrowth.FACTOR.check("--growth", factor));
    Collection<TableForecasts> shown = whatIf(chosen(read()));
    PrintWriter out = spec.commandLine().getOut();
    if (asJson) {
      JsonLines<TableForecasts, ?> lines = new JsonLines<>(Codec.TABLE_FORECASTS);
      shown.forEach(forecasts -> out.print(lines.write(forecasts) + '\n'));
    } else if (shown.isEmpty()) {
      out.println(
          "No forecasts yet: the first of a workload follows a report of how full its hashed tables"
              + " are");
    } else {
      growth.ifPresent(
          factor -> out.printf(Locale.ROOT, "As if tables grew %s times as fast:%n", factor));
      out.print(ForecastView.text(shown));
    }
    return 0;
  }

  private Collection<TableForecasts> whatIf(Collection<TableForecasts> latest) {
    try {
      return growth.isEmpty()
          ? latest
          : latest.stream().map(forecasts -> WhatIfGrowth.of(forecasts, growth.get())).toList();
    } catch (IllegalArgumentException e) {
      throw new RefusedException(e.getMessage());
    }
  }

  private SortedMap<String, TableForecasts> read() throws IOException {
    KafkaLogSummary quietLog = cluster.quietLog();
    try (ForecastReader reader = ForecastReader.connect(cluster.endpoint())) {
      return reader.read();
    } finally {
      quietLog.close();
    }
  }

  private Collection<TableForecasts> chosen(SortedMap<String, TableForecasts> all) {
    if (workload.isEmpty()) {
      return all.values();
    }
    TableForecasts one = all.get(workload.get());
    if (one == null) {
      throw new RefusedException(
          "There are no forecasts of workload %s; expected one of %s. The first follows a report of"
                  .formatted(Names.quote(workload.get()), all.keySet())
              + " how full its hashed tables are");
    }
    return List.of(one);
  }
}
