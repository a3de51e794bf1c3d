package io.shardtide.cli;

import static io.shardtide.wire.TopicType.COST_PREDICTIONS;
import static io.shardtide.wire.TopicType.WORKLOAD_CHANGES;

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
import io.shardtide.replay.Replay;
import io.shardtide.replay.ReplayResult;
import io.shardtide.replay.ReplayScope;
import io.shardtide.replay.SomeRecords;
import io.shardtide.replay.WhatIf;
import io.shardtide.samples.RecordText;
import io.shardtide.wire.Codec;
import io.shardtide.wire.JsonLines;
import io.shardtide.workload.CanonicalHash;
import io.shardtide.workload.ClusterSpec;
import io.shardtide.workload.RejectedException;
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
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** Recomputes the plans and allocations of a log. */
@Command(
    name = "replay",
    description = {
      "Recomputes every recorded plan and compares plan ids. Reads a cluster, or an export. From an"
          + " events file alone, predicts the events and plans each generation by itself.",
      "Recomputes every recorded allocation of a pool too, and compares all its fields; with"
          + " --workload, none. So too every recorded forecast of hashed tables.",
      "With --what-if: plans every generation with another model, other settings or other events,"
          + " and compares cost and moved bytes with the recorded plans.",
      "Exit status: 0 if all plans, allocations and forecasts are equal, 1 if one differs or"
          + " records contradict each other, 2 for wrong usage."
    },
    footer = {
      "",
      "Examples:",
      "  shardtide log replay backup",
      "  shardtide log replay backup --what-if --set paybackSteps=10000"
    })
final class LogReplay implements Callable<Integer> {
  private static final String PLANNING = "Planning";

  @Mixin private LogOption log;

  @Parameters(
      paramLabel = "LOG",
      arity = "0..1",
      description =
          "The folder of an export, or a file of events beside its other files. Default: the log of"
              + " the cluster.")
  private Path path;

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
      description = "File for the recomputed plans, one per line.")
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
      description =
          "With --what-if: values of all clusters to change, such as hostMemoryGib=1024, and predict"
              + " and plan again.")
  private String otherCluster;

  @Option(
      names = "--speed",
      paramLabel = "DEVICE=FACTOR",
      description =
          "With --what-if: a device of all workloads that takes FACTOR times as long for"
              + " computation and communication; may be repeated.")
  private Map<Integer, Double> slowdowns = Map.of();

  @Option(
      names = "--set",
      paramLabel = "KEY=VALUE",
      description =
          "With --what-if: a search setting to change; repeatable. Keys: evaluationsPerTable,"
              + " repairEvaluations, moveGigabytesPerSecond, moveOverheadMs, reshardMs, paybackSteps,"
              + " risk.")
  private Map<String, String> settings = Map.of();

  /** The export; null for the log of the cluster. */
  private ExportFolder folder;

  private ReplayScope scope;

  @Override
  public Integer call() throws IOException {
    check();
    scope = new ReplayScope(Optional.ofNullable(workload), from, to);
    folder = path == null ? null : ExportFolder.of(path);
    if (folder != null && out != null) {
      log.checkOutput(out, folder.paths(), "those of the export");
    }
    return log.read(path, Optional.ofNullable(workload), LateBar.hidden(), this::run);
  }

  private void check() {
    if (!whatIf
        && (!settings.isEmpty()
            || original != null
            || otherCluster != null
            || !slowdowns.isEmpty())) {
      throw log.wrong("--set, --cluster, --speed and --original need --what-if");
    }
    if (whatIf && repredict) {
      throw log.wrong("--repredict cannot be combined with --what-if");
    }
    changed(SearchSettings.DEFAULTS);
    try {
      changed(new ClusterSpec(1, 1, 1, 1, "-"));
    } catch (RejectedException e) {
      // Whether the values are legal depends on the cluster.
    }
    slow();
  }

  private SearchSettings changed(SearchSettings base) {
    Map<String, String> values = new LinkedHashMap<>();
    settings.forEach((key, value) -> values.put(key, value.replace("_", "")));
    if (values.containsKey("columnCuts")) {
      throw new IllegalArgumentException("columnCuts is no setting any more");
    }
    return RecordText.with(base, values);
  }

  private ClusterSpec changed(ClusterSpec base) {
    return RecordText.with(base, PathValues.of(otherCluster));
  }

  private int run(LogRecords records) throws IOException {
    if (folder != null && records.all(WORKLOAD_CHANGES, event -> true).isEmpty()) {
      throw new IllegalArgumentException(
          path + " holds no events, expected one WorkloadChange per line, in Avro's JSON encoding");
    }
    return whatIf ? whatIf(records) : replay(records);
  }

  private int replay(LogRecords records) throws IOException {
    Map<String, ModelBundle> models = models(records);
    PrintWriter console = log.out();
    if (folder != null) {
      console.printf(
          "Recorded: %s, in %s%n",
          String.join(", ", folder.kinds()),
          folder.file(WORKLOAD_CHANGES).toAbsolutePath().getParent());
      if (!records.has(COST_PREDICTIONS)) {
        console.printf(
            "Predictions are not recorded: TensorFlow makes them, with model %s%n",
            String.join(", ", models.keySet().stream().map(CanonicalHash::shown).toList()));
      }
    }
    ReplayView view = new ReplayView();
    ReplayResult plans;
    try (LateBar bar = log.bar(PLANNING)) {
      plans = new Replay(records, scope, models, TensorFlowTowers::new, bar::show).run(repredict);
    }
    console.print(view.showPlans(plans));
    write(plans.plans());
    boolean isEqual = plans.isEqual();
    if (workload == null) {
      ReplayResult allocations = AllocationReplay.run(records);
      console.print(view.show(allocations, "allocations", "allocation", "pool "));
      isEqual &= allocations.isEqual();
    }
    ReplayResult forecasts = ForecastReplay.run(records, Optional.ofNullable(workload));
    console.print(view.show(forecasts, "forecasts", "forecasts after report", ""));
    return isEqual && forecasts.isEqual() ? 0 : 1;
  }

  /** Returns the recorded models or, without any, the shipped ones. */
  private static Map<String, ModelBundle> recordedModels(LogRecords records) throws IOException {
    Map<String, ModelBundle> models = new LinkedHashMap<>(records.models());
    if (models.isEmpty()) {
      RunningModels.shipped().forEach(shipped -> models.put(shipped.modelId(), shipped));
    }
    return models;
  }

  /** Returns those, and last the one given by {@code --model}, which makes new predictions. */
  private Map<String, ModelBundle> models(LogRecords records) throws IOException {
    Map<String, ModelBundle> models = recordedModels(records);
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

  private int whatIf(LogRecords records) throws IOException {
    ExportFolder other = original == null ? null : ExportFolder.of(original);
    LogRecords recorded = other == null ? records : other;
    boolean edited =
        folder != null
            && other != null
            && !Files.isSameFile(folder.file(WORKLOAD_CHANGES), other.file(WORKLOAD_CHANGES));
    boolean isPredicted =
        otherCluster == null && !edited && model == null && WhatIf.isPredicted(records);
    LogRecords planned =
        new SomeRecords(
            records,
            kind -> isPredicted || !kind.equals(COST_PREDICTIONS),
            otherCluster == null ? cluster -> cluster : this::changed);
    WhatIf.WhatIfSettings wanted =
        new WhatIf.WhatIfSettings(planned, scope, models(recorded), slow(), this::changed);
    boolean isChanged = !isPredicted || !slowdowns.isEmpty() || !settings.isEmpty();
    WhatIf.WhatIfSettings unchanged =
        isChanged
            ? new WhatIf.WhatIfSettings(
                recorded, scope, recordedModels(recorded), List.of(), used -> used)
            : wanted;
    WhatIf.WhatIfResult result;
    try (LateBar bar = log.bar(PLANNING)) {
      result = WhatIf.run(recorded, unchanged, wanted, TensorFlowTowers::new, bar::show);
    }
    write(result.plans());
    log.out().print(new ReplayView().show(result, isPredicted));
    return 0;
  }

  private void write(List<ShardingPlan> plans) throws IOException {
    if (out == null) {
      return;
    }
    JsonLines<ShardingPlan, ?> lines = new JsonLines<>(Codec.SHARDING_PLAN);
    try (OutputFile file = OutputFile.create(out)) {
      for (ShardingPlan plan : plans) {
        file.text().write(lines.write(plan));
        file.text().write('\n');
      }
      file.complete();
    }
    log.out().printf("%,d plans written to %s%n", plans.size(), out);
  }
}
