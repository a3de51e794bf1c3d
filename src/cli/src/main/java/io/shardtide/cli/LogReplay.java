package io.shardtide.cli;

import io.shardtide.cost.ModelBundle;
import io.shardtide.cost.tensorflow.TensorFlowTowers;
import io.shardtide.files.OutputFile;
import io.shardtide.models.ModelFiles;
import io.shardtide.plan.CostPart;
import io.shardtide.plan.DeviceSpeed;
import io.shardtide.plan.SearchSettings;
import io.shardtide.plan.ShardingPlan;
import io.shardtide.replay.AllocationReplay;
import io.shardtide.replay.ExportFolder;
import io.shardtide.replay.ForecastReplay;
import io.shardtide.replay.LogRecords;
import io.shardtide.replay.OtherClusters;
import io.shardtide.replay.Recomputed;
import io.shardtide.replay.RecordKind;
import io.shardtide.replay.Replay;
import io.shardtide.replay.ReplayResult;
import io.shardtide.replay.ReplayScope;
import io.shardtide.replay.WhatIf;
import io.shardtide.wire.Codec;
import io.shardtide.wire.JsonLines;
import io.shardtide.workload.CanonicalHash;
import java.io.IOException;
import java.io.PrintWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Instant;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.Callable;
import java.util.stream.Stream;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;

/** Recomputes the plans and allocations of a log. */
@Command(
    name = "replay",
    description = {
      "Recomputes every recorded plan and compares plan ids. Reads a cluster, or an events file and"
          + " the other exported files in its folder. From an events file alone, predicts the"
          + " events and plans each generation by itself.",
      "Recomputes every recorded allocation of a pool too, and compares all its fields; with"
          + " --workload, none. So too every recorded forecast of hashed tables.",
      "With --what-if: plans every generation with another model, other settings or other events,"
          + " and compares cost and moved bytes with the recorded plans.",
      "Exit status: 0 if all plans, allocations and forecasts are equal, 1 if one differs or"
          + " records contradict each other, 2 for wrong usage."
    },
    footer = {
      "",
      "Example:",
      "  shardtide replay --events backup/events.jsonl --out plans.jsonl",
      "  shardtide replay --events backup/events.jsonl --out what-if.jsonl \\",
      "    --what-if --set paybackSteps=10000"
    },
    mixinStandardHelpOptions = true)
final class ReplayCommand implements Callable<Integer> {
  @Spec private CommandSpec spec;

  @Mixin private ClusterOption cluster;

  @Option(
      names = "--events",
      paramLabel = "FILE",
      description =
          "Events, one per line. Exported predictions, plans, models and the rest are read from the"
              + " same folder.")
  private Path events;

  @Option(
      names = "--model",
      paramLabel = "FILE",
      description =
          "Cost model bundle to use besides the recorded ones; without any, besides the shipped"
              + " ones.")
  private Path model;

  @Option(names = "--workload", paramLabel = "ID", description = "Only this workload.")
  private String workload;

  @Option(
      names = "--from",
      paramLabel = "G",
      defaultValue = "0",
      description = "Only plans of this generation and later ones.")
  private long from;

  @Option(
      names = "--to",
      paramLabel = "G",
      defaultValue = "" + Long.MAX_VALUE,
      showDefaultValue = picocli.CommandLine.Help.Visibility.NEVER,
      description = "Only plans of this generation and earlier ones.")
  private long to;

  @Option(
      names = "--out",
      paramLabel = "FILE",
      description = "File for the recomputed plans, one per line. Required without --what-if.")
  private Path out;

  @Option(
      names = "--repredict",
      description =
          "Run TensorFlow again, and report the largest relative difference to the recorded"
              + " predictions.")
  private boolean repredict;

  @Option(
      names = "--what-if",
      description = "Plan every generation, and compare with the recorded plans.")
  private boolean whatIf;

  @Option(
      names = "--original",
      paramLabel = "DIR",
      description =
          "With --what-if: the folder of the export to compare with. Default: that of the events"
              + " file.")
  private Path original;

  @Option(
      names = "--cluster",
      paramLabel = "KEY=VALUE,..",
      description = {
        "With --what-if: values of all clusters to change, and predict and plan again;"
            + " hostMemoryGib=1024, say. Keys: "
            + SpecTexts.CLUSTER_KEYS
      })
  private String otherCluster;

  @Option(
      names = "--speed",
      paramLabel = "DEVICE=FACTOR",
      description =
          "With --what-if: a device of all workloads that takes FACTOR times as long for"
              + " computation and communication; may be repeated.")
  private Map<Integer, Double> slowdowns = Map.of();

  @Mixin private SettingsOption settings;

  private final LateBar bar = new LateBar("Planning");

  @Override
  public Integer call() throws Exception {
    check();
    ReplayScope scope = new ReplayScope(Optional.ofNullable(workload), from, to);
    try (bar) {
      if (events != null) {
        ExportFolder folder = ExportFolder.beside(events);
        if (out != null) {
          Outputs.check(
              spec.commandLine(), out, folder.paths(), "those of the export beside --events");
        }
        return run(folder, folder, scope);
      }
      try (ClusterOption.Connection connection =
          cluster.connect(Optional.ofNullable(workload), () -> {})) {
        int status = run(connection.records(), null, scope);
        connection.records().notes().forEach(note -> console().println("note: " + note));
        return status;
      }
    }
  }

  private void check() {
    boolean both = events != null && cluster.isGiven();
    if (both || (events == null && !cluster.isGiven())) {
      throw usage(
          (both ? "Too many options: " : "Missing option: ")
              + "either --events, or --bootstrap with --registry");
    }
    if (events == null) {
      cluster.check(spec);
    }
    if (!whatIf && out == null) {
      throw usage("Missing required option: '--out=FILE'");
    }
    if (!whatIf
        && (settings.isGiven()
            || original != null
            || otherCluster != null
            || !slowdowns.isEmpty())) {
      throw usage("--set, --cluster, --speed and --original need --what-if");
    }
    if (whatIf && repredict) {
      throw usage("--repredict cannot be combined with --what-if");
    }
    try {
      settings.in(SearchSettings.DEFAULTS);
      if (otherCluster != null) {
        SpecTexts.clusterChange(otherCluster);
      }
      slow();
      new ReplayScope(Optional.empty(), from, to);
    } catch (IllegalArgumentException e) {
      throw usage(e.getMessage());
    }
  }

  private ParameterException usage(String message) {
    return new ParameterException(spec.commandLine(), message);
  }

  private PrintWriter console() {
    return spec.commandLine().getOut();
  }

  private int run(LogRecords records, ExportFolder folder, ReplayScope scope) throws IOException {
    if (folder != null) {
      requireEvents(records);
    }
    return whatIf ? whatIf(records, folder, scope) : replay(records, folder, scope);
  }

  private void requireEvents(LogRecords records) throws IOException {
    boolean[] any = {false};
    records.read(RecordKind.EVENTS, event -> any[0] = true);
    if (!any[0]) {
      throw new IllegalArgumentException(
          events
              + " holds no events, expected one WorkloadChange per line, in Avro's JSON encoding");
    }
  }

  private int replay(LogRecords records, ExportFolder folder, ReplayScope scope)
      throws IOException {
    Map<String, ModelBundle> models = models(records);
    PrintWriter console = console();
    if (folder != null) {
      console.printf(
          "Recorded: %s, in %s%n",
          String.join(", ", folder.kinds()),
          folder.file(RecordKind.EVENTS).toAbsolutePath().getParent());
      if (!records.has(RecordKind.PREDICTIONS)) {
        console.printf(
            "Predictions are not recorded: TensorFlow makes them, with model %s%n",
            String.join(", ", models.keySet().stream().map(CanonicalHash::shown).toList()));
      }
    }
    ReplayResult result =
        new Replay(records, scope, models, TensorFlowTowers::new, bar::show).run(repredict);
    bar.end();
    write(result.plans());
    console.print(new ReplayView().show(result));
    console.printf("%,d plans written to %s%n", result.plans().size(), out);
    boolean hasEqualAllocations = replayAllocations(records);
    boolean hasEqualForecasts = replayForecasts(records);
    return result.isEqual() && hasEqualAllocations && hasEqualForecasts ? 0 : 1;
  }

  /** Returns whether all recorded allocations of pools are equal. */
  private boolean replayAllocations(LogRecords records) throws IOException {
    if (workload != null) {
      return true;
    }
    if (!records.has(RecordKind.ALLOCATIONS)) {
      if (records.has(RecordKind.POOL_CHANGES) || !records.has(RecordKind.PLANS)) {
        console().println("note: allocations of pools are not recorded, and not recomputed");
      }
      return true;
    }
    Recomputed result = AllocationReplay.run(records);
    console().print(new ReplayView().showAllocations(result));
    return result.isEqual();
  }

  /** Returns whether all recorded forecasts of hashed tables are equal. */
  private boolean replayForecasts(LogRecords records) throws IOException {
    if (!records.has(RecordKind.FORECASTS)) {
      return true;
    }
    if (!records.has(RecordKind.FILLS) || !records.has(RecordKind.PREDICTIONS)) {
      console()
          .println("note: reports or predictions are not recorded: forecasts are not recomputed");
      return true;
    }
    Recomputed result = ForecastReplay.run(records, Optional.ofNullable(workload));
    console().print(new ReplayView().showForecasts(result));
    return result.isEqual();
  }

  /**
   * Returns the recorded models or, without any, the shipped ones; last the one given by {@code
   * --model}, which makes new predictions.
   */
  private Map<String, ModelBundle> models(LogRecords records) throws IOException {
    Map<String, ModelBundle> models = new LinkedHashMap<>(records.models());
    if (models.isEmpty()) {
      RunningModels.shipped().forEach(shipped -> models.put(shipped.modelId(), shipped));
    }
    if (model != null) {
      ModelBundle given = ModelFiles.read(model);
      models.remove(given.modelId());
      models.put(given.modelId(), given);
    }
    return models;
  }

  private List<DeviceSpeed> slow() {
    return slowdowns.entrySet().stream()
        .flatMap(
            entry ->
                Stream.of(CostPart.values())
                    .map(
                        part ->
                            new DeviceSpeed(
                                entry.getKey(), part, entry.getValue(), 0, Instant.EPOCH)))
        .sorted(DeviceSpeed.ORDER)
        .toList();
  }

  private int whatIf(LogRecords records, ExportFolder folder, ReplayScope scope)
      throws IOException {
    LogRecords recorded = original == null ? records : ExportFolder.of(original);
    boolean edited =
        folder != null
            && original != null
            && !Files.isSameFile(
                folder.file(RecordKind.EVENTS), ExportFolder.of(original).file(RecordKind.EVENTS));
    LogRecords planned =
        otherCluster == null
            ? records
            : new OtherClusters(records, SpecTexts.clusterChange(otherCluster));
    boolean isPredicted = !edited && model == null && WhatIf.isPredicted(planned);
    WhatIf.WhatIfResult result =
        WhatIf.run(
            new WhatIf.WhatIfSettings(
                recorded, planned, isPredicted, scope, models(recorded), slow(), settings::in),
            TensorFlowTowers::new,
            bar::show);
    bar.end();
    if (out != null) {
      write(result.plans());
    }
    console().print(new ReplayView().show(result, isPredicted));
    return 0;
  }

  private void write(List<ShardingPlan> plans) throws IOException {
    JsonLines<ShardingPlan, ?> lines = new JsonLines<>(Codec.SHARDING_PLAN);
    try (OutputFile file = OutputFile.create(out)) {
      for (ShardingPlan plan : plans) {
        file.text().write(lines.write(plan));
        file.text().write('\n');
      }
      file.complete();
    }
  }
}
