package io.shardtide.cli;

import io.shardtide.client.ForecastReader;
import io.shardtide.growth.TableForecasts;
import io.shardtide.growth.WhatIfGrowth;
import io.shardtide.replay.RefusedException;
import io.shardtide.wire.Codec;
import io.shardtide.workload.Change;
import io.shardtide.workload.Names;
import io.shardtide.workload.RejectionReason;
import java.util.Collection;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.SortedMap;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** Resizes hashed tables, and shows how full they are and when they will be full. */
@Command(
    name = "table",
    description = "Resizes hashed tables, and forecasts when they are full.",
    footer = {"", "Example:", "  shardtide table forecast ads"})
final class TableCommand {
  @Command(
      name = "resize",
      description = "Gives hashed tables so many slots, and changes nothing else.",
      footer = {"", "Example:", "  shardtide table resize ads user=2000000"})
  int resize(
      @Mixin EventOption on,
      @Parameters(paramLabel = "WORKLOAD", index = "0", description = "Id of the workload.")
          String workload,
      @Parameters(
              paramLabel = "TABLE=ROWS",
              index = "1..*",
              arity = "1..*",
              description = "A table and its slots from now on.")
          List<String> sizes,
      @Option(
              names = "--reason",
              paramLabel = "TEXT",
              defaultValue = "",
              description = "Why, for people: plans tell it.")
          String reason)
      throws Exception {
    List<Change> changes = sizes.stream().<Change>map(text -> resized(text, reason)).toList();
    return on.publish(List.of(on.event(workload, changes)));
  }

  /** A name may hold an equals sign. */
  static Change.TableResized resized(String text, String reason) {
    int equals = text.lastIndexOf('=');
    try {
      if (equals > 0) {
        long rows = Long.parseLong(text.substring(equals + 1).strip());
        return new Change.TableResized(text.substring(0, equals).strip(), rows, reason);
      }
    } catch (NumberFormatException e) {
      // Said below.
    }
    throw new IllegalArgumentException(
        "a resize must be NAME=ROWS, such as user=2000000, got \"%s\"".formatted(text));
  }

  @Command(
      name = "forecast",
      description = {
        "Shows how many ids hashed tables have and will have, when they are full, and when memory no"
            + " longer holds them. The planner needs growth.enabled=true.",
        "Each range is meant to hold in nine of ten cases. Days count from the report, whose time"
            + " is shown."
      },
      footer = {
        "",
        "Examples:",
        "  shardtide table forecast ads",
        "  shardtide table forecast --horizon-factor 2"
      })
  int forecast(
      @Mixin ClusterOption on,
      @Parameters(
              paramLabel = "WORKLOAD",
              arity = "0..1",
              description = "Only the tables of this workload.")
          String workload,
      @Option(
              names = "--horizon-factor",
              paramLabel = "FACTOR",
              description =
                  "What would be forecast if tables grew FACTOR times as fast from their reports on,"
                      + " 0 to 1000; 2 if growth doubles.")
          Double growth)
      throws Exception {
    if (workload != null) {
      Names.check(workload, "workload id", RejectionReason.INVALID_WORKLOAD_ID);
    }
    if (growth != null) {
      WhatIfGrowth.FACTOR.check("--horizon-factor", growth);
    }
    SortedMap<String, TableForecasts> all;
    try (ForecastReader reader = ForecastReader.connect(on.endpoint())) {
      all = reader.read();
    }
    Collection<TableForecasts> shown = whatIf(growth, chosen(workload, all));
    String heading =
        growth == null
            ? ""
            : String.format(Locale.ROOT, "As if tables grew %s times as fast:%n", growth);
    on.printAll(
        Codec.TABLE_FORECASTS,
        shown,
        () ->
            shown.isEmpty()
                ? "No forecasts yet: the first of a workload follows a report of how full its hashed"
                    + " tables are\n"
                : heading + ForecastView.text(shown));
    return 0;
  }

  private static Collection<TableForecasts> whatIf(
      Double growth, Collection<TableForecasts> latest) {
    try {
      return growth == null
          ? latest
          : latest.stream().map(forecasts -> WhatIfGrowth.of(forecasts, growth)).toList();
    } catch (IllegalArgumentException e) {
      throw new RefusedException(e.getMessage());
    }
  }

  private static Collection<TableForecasts> chosen(
      String workload, SortedMap<String, TableForecasts> all) {
    if (workload == null) {
      return all.values();
    }
    return List.of(
        Optional.ofNullable(all.get(workload))
            .orElseThrow(
                () ->
                    new RefusedException(
                        "There are no forecasts of workload %s; expected one of %s. The first"
                                .formatted(Names.quote(workload), all.keySet())
                            + " follows a report of how full its hashed tables are")));
  }
}
