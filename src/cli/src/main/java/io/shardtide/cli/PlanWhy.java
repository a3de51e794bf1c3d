package io.shardtide.cli;

import io.shardtide.replay.AllocationCollector;
import io.shardtide.replay.AllocationProvenance;
import io.shardtide.replay.ExportFolder;
import io.shardtide.replay.LogRecords;
import io.shardtide.replay.PlanProvenance;
import io.shardtide.replay.ProvenanceCollector;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.concurrent.Callable;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;

/** Explains a plan, or an allocation of a pool. */
@Command(
    name = "why",
    description = {
      "Explains a plan: the events that led to it, the predictions of the model, the search, and"
          + " what each split and move saves.",
      "With --pool: explains an allocation of a pool: the events and the curves of throughput that"
          + " led to it, what each workload has and why, nodes that changed hands, and claims that"
          + " wait."
    },
    footer = {
      "",
      "Example:",
      "  shardtide why --bootstrap kafka:9092 \\",
      "    --registry http://registry:8081 --plan 4f3c2a1b9d",
      "  shardtide why --events backup/events.jsonl --workload ads",
      "  shardtide why --events backup/events.jsonl --pool gpus --generation 7"
    },
    mixinStandardHelpOptions = true)
final class WhyCommand implements Callable<Integer> {
  @Spec private CommandSpec spec;

  @Mixin private ClusterOption cluster;

  @Option(
      names = "--events",
      paramLabel = "FILE",
      description = "The events file of an export, instead of a cluster.")
  private Path events;

  @Option(names = "--plan", paramLabel = "ID", description = "The plan's id, or a prefix of it.")
  private String plan;

  @Option(
      names = "--workload",
      paramLabel = "ID",
      description = "A workload, whose latest plan is explained.")
  private String workload;

  @Option(
      names = "--pool",
      paramLabel = "ID",
      description = "A pool, whose latest allocation is explained.")
  private String pool;

  @Option(
      names = "--generation",
      paramLabel = "G",
      description =
          "With --workload: the last plan of this generation, instead of the latest. With --pool: all"
              + " allocations of this generation.")
  private Long generation;

  @Option(names = "--json", description = "Print it as JSON instead of text.")
  private boolean json;

  private String explain(LogRecords records) throws IOException {
    OptionalLong wanted = generation == null ? OptionalLong.empty() : OptionalLong.of(generation);
    if (pool != null) {
      List<AllocationProvenance> all = AllocationCollector.collect(records, pool, wanted);
      List<AllocationProvenance> shown =
          generation == null ? all.subList(all.size() - 1, all.size()) : all;
      return shown.stream()
          .map(one -> json ? JsonText.pretty(one) : new WhyAllocationView().show(one))
          .collect(Collectors.joining(json ? "" : System.lineSeparator()));
    }
    String id = plan == null ? ProvenanceCollector.planId(records, workload, wanted) : plan;
    PlanProvenance provenance = ProvenanceCollector.collect(records, id);
    return json ? JsonText.pretty(ProvenanceJson.of(provenance)) : new WhyView().show(provenance);
  }

  private void check() {
    boolean both = events != null && cluster.isGiven();
    if (both || (events == null && !cluster.isGiven())) {
      throw usage(
          (both ? "Too many options: " : "Missing option: ")
              + "either --events, or --bootstrap with --registry");
    }
    long subjects = Stream.of(plan, workload, pool).filter(Objects::nonNull).count();
    if (subjects != 1) {
      throw usage(
          (subjects > 1 ? "Too many options: " : "Missing option: ")
              + "one of --plan, --workload and --pool");
    }
    if (plan != null) {
      // Before a cluster is asked.
      ProvenanceCollector.checkedId(plan);
    }
    if (generation != null && plan != null) {
      throw usage("--generation needs --workload or --pool");
    }
    if (generation != null && generation < 1) {
      throw usage("--generation must be at least 1, got " + generation);
    }
  }

  private ParameterException usage(String message) {
    return new ParameterException(spec.commandLine(), message);
  }

  @Override
  public Integer call() throws Exception {
    check();
    if (events != null) {
      spec.commandLine().getOut().print(explain(ExportFolder.beside(events)));
      return 0;
    }
    cluster.check(spec);
    long[] read = {0};
    try (LateBar bar = new LateBar("Reading");
        ClusterOption.Connection connection =
            cluster.connect(Optional.ofNullable(workload), () -> bar.show(++read[0], 0))) {
      String text = explain(connection.records());
      bar.end();
      spec.commandLine().getOut().print(text);
    }
    return 0;
  }
}
