package io.shardtide.cli;

import io.shardtide.plan.Shard;
import io.shardtide.replay.LogRecords;
import io.shardtide.replay.PlanProvenance;
import io.shardtide.replay.ProvenanceCollector;
import io.shardtide.workload.CanonicalHash;
import io.shardtide.workload.Names;
import java.io.IOException;
import java.nio.file.Path;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.Set;
import java.util.concurrent.Callable;
import java.util.stream.Collectors;
import picocli.CommandLine.ArgGroup;
import picocli.CommandLine.Command;
import picocli.CommandLine.Help.Ansi;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** Explains a plan. */
@Command(
    name = "why",
    description =
        "Explains a plan: the events that led to it, the predictions of the model, the search, and"
            + " what each split and move saves.",
    footer = {
      "",
      "Examples:",
      "  shardtide plan why ads",
      "  shardtide plan why --plan 4f3c2a1b9d",
      "  shardtide plan why ads --log backup"
    })
final class PlanWhy implements Callable<Integer> {
  @Mixin private LogOption log;

  @ArgGroup(multiplicity = "1")
  private PlanOrWorkload of;

  @Option(
      names = "--generation",
      paramLabel = "G",
      description = "Of a workload: the last plan of this generation, instead of the latest.")
  private Long generation;

  @Option(
      names = "--table",
      paramLabel = "NAME",
      description = "Of all tables: only where and why this one is. With -o json, all are there.")
  private String table;

  @Option(names = "--log", paramLabel = "DIR", description = LogOption.EXPORTED)
  private Path folder;

  /** What is explained. */
  private static final class PlanOrWorkload {
    @Parameters(
        paramLabel = "WORKLOAD",
        description = "A workload, whose latest plan is explained.")
    private String workload;

    @Option(names = "--plan", paramLabel = "ID", description = "The plan's id, or a prefix of it.")
    private String plan;
  }

  private PlanProvenance explain(LogRecords records) throws IOException {
    OptionalLong wanted = generation == null ? OptionalLong.empty() : OptionalLong.of(generation);
    return of.plan == null
        ? ProvenanceCollector.collect(records, of.workload, wanted)
        : ProvenanceCollector.collect(records, of.plan);
  }

  @Override
  public Integer call() throws IOException {
    if (of.plan != null) {
      // Before a cluster is asked.
      ProvenanceCollector.checkedId(of.plan);
    }
    if (generation != null && (of.plan != null || generation < 1)) {
      throw log.wrong("--generation must be at least 1, and of a workload, got " + generation);
    }
    PlanProvenance provenance =
        log.read(folder, Optional.ofNullable(of.workload), log.bar("Reading"), this::explain);
    Set<String> tables =
        provenance.plan().shards().stream().map(Shard::table).collect(Collectors.toSet());
    if (table != null && !tables.contains(table)) {
      throw log.wrong(
          "--table must be a table of plan %s, got %s%s"
              .formatted(
                  CanonicalHash.shown(provenance.plan().planId()),
                  Names.quote(table),
                  UsageErrors.hint(table, tables)));
    }
    PlanText text = new PlanText(Ansi.AUTO, id -> provenance.simulated().orElse(false));
    log.print(
        ProvenanceJson.of(provenance), () -> text.why(provenance, Optional.ofNullable(table)));
    return 0;
  }
}
