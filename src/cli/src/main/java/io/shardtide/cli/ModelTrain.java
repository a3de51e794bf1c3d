package io.shardtide.cli;

import io.shardtide.cost.CollectiveSample;
import io.shardtide.cost.LinkDataSheet;
import io.shardtide.cost.Links;
import io.shardtide.cost.ModelBundle;
import io.shardtide.cost.SampleSet;
import io.shardtide.cost.tensorflow.ModelTraining;
import io.shardtide.cost.tensorflow.TrainingProgress;
import io.shardtide.cost.tensorflow.TrainingSettings;
import io.shardtide.models.ModelFiles;
import io.shardtide.samples.RunInfo;
import io.shardtide.samples.SampleFolderReader;
import java.io.IOException;
import java.io.PrintWriter;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.concurrent.Callable;
import me.tongfei.progressbar.ProgressBar;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

/** Trains a bundle from labelled samples. */
@Command(
    name = "train",
    description = "Trains a cost model bundle from labelled samples.",
    footer = {
      "",
      "Examples:",
      "  shardtide model train --samples samples --hardware h100 --out h100.avro",
      "  shardtide model train --samples samples --hardware h100 \\",
      "    --links nvlink-gbs=370,nvls-gbs=460,nic-gbs=48 --out h100.avro",
      "  shardtide model train --samples samples --hardware h100 \\",
      "    --links nccl,nic-gbs=48 --out h100.avro"
    })
final class ModelTrain implements Callable<Integer> {
  @Mixin private PrintOption on;

  @Mixin private SamplesOption samples;

  @Option(
      names = "--hardware",
      required = true,
      paramLabel = "NAME",
      description = "Name of the measured hardware; a cluster names it to use the model.")
  private String hardware;

  @Option(
      names = "--description",
      paramLabel = "TEXT",
      defaultValue = "",
      description = "What was measured, and on what; stored in the model's card.")
  private String description;

  @Option(
      names = "--simulated",
      description = "The costs come from a simulator; stored in the model's card.")
  private boolean simulated;

  @Option(
      names = "--seed",
      paramLabel = "N",
      defaultValue = "1",
      description = "Seed of the training: the same seed gives the same model. Default: 1.")
  private long seed;

  @Option(
      names = "--hold-out-tables",
      paramLabel = "SHARE",
      defaultValue = "0",
      description =
          "Share of the tables kept out of training, 0 to below 1; evaluate then reports their"
              + " errors separately. Default: ${DEFAULT-VALUE}.")
  private double heldOutTables;

  @Option(
      names = "--links",
      paramLabel = "KEY=NUMBER|DIR",
      split = ",",
      mapFallbackValue = Option.NULL_VALUE,
      description =
          "Figures of a data sheet for the collectives that were not measured: nvlink-gbs (required; bus"
              + " bandwidth of a device in a node, GB/s), nvls-gbs (the same of an all-reduce; default"
              + " nvlink-gbs), nic-gbs (required; network bandwidth of a device, GB/s), nvlink-us (latency in"
              + " a node, microseconds; default 20), nic-us (latency of each doubling of the nodes; default"
              + " 15), host-gbs (link of a device to host memory, GB/s; default 56), small-gbs and bulk-us"
              + " (bandwidth of small messages, and latency of others; default"
              + " nvlink-gbs and nvlink-us). Or a folder of collectives, as shardtide-py import nccl-tests"
              + " writes it: figures that are not given are read from it, and costs follow its tables.")
  private Map<String, Optional<Double>> links;

  @Option(
      names = "--from",
      paramLabel = "FILE",
      description =
          "A model that training starts from, of other hardware as a rule: costs of cached shards are this"
              + " model's, scaled, unless at least 100 computations with them were measured, and its weights are"
              + " the first ones if that is nearer to the samples than fitted terms.")
  private Path from;

  @Option(
      names = "--out",
      required = true,
      paramLabel = "FILE",
      description = "Where to write the bundle.")
  private Path out;

  @Override
  public Integer call() throws Exception {
    PrintWriter report = on.out();
    Optional<Links> sheet = links();
    Optional<ModelBundle> start =
        from == null ? Optional.empty() : Optional.of(ModelFiles.read(from));
    Optional<String> problem = samples.problem(hardware);
    if (problem.isPresent()) {
      throw on.wrong(
          problem.get()
              + ". Maybe --hardware has another name than that of the collector, or --out of the collector was the folder of another machine");
    }
    SampleSet set = samples.load();
    report.printf(
        "%d compute samples of %d tables; %d collectives%n",
        set.compute().size(), set.tables().size(), set.collectives().size());
    sheet.ifPresent(of -> report(of, set, report));
    report.flush();
    TrainingSettings settings = TrainingSettings.defaults(seed).holdingOut(heldOutTables);
    ModelBundle bundle;
    try (Bars bars = new Bars()) {
      bundle =
          ModelTraining.train(
              set,
              sheet,
              start,
              new ModelTraining.About(hardware, description, simulated, List.of(samples.source())),
              settings,
              bars);
    }
    ModelFiles.write(bundle, out);
    report.printf("Model %s for %s in %s%n", bundle.modelId(), bundle.hardware(), out);
    for (Map.Entry<String, Double> error : bundle.card().errors().entrySet()) {
      report.printf("  %-32s %6.2f %%%n", error.getKey(), 100 * error.getValue());
    }
    bundle.unmeasured().forEach(text -> report.printf("  %s%n", text));
    report.printf("  %s%n", bundle.describeHostLink());
    return 0;
  }

  private Optional<Links> links() throws IOException {
    if (links == null) {
      return Optional.empty();
    }
    Map<String, Double> figures = new TreeMap<>();
    List<CollectiveSample> measured = new ArrayList<>();
    for (Map.Entry<String, Optional<Double>> each : links.entrySet()) {
      each.getValue().ifPresent(number -> figures.put(each.getKey(), number));
      if (each.getValue().isEmpty()) {
        Path folder = Path.of(each.getKey());
        Optional<String> problem = RunInfo.find(folder).flatMap(info -> info.problem(hardware));
        if (problem.isPresent()) {
          throw on.wrong("--links: " + problem.get());
        }
        measured.addAll(SampleFolderReader.read(folder, Optional.empty()).collectives());
      }
    }
    try {
      return Optional.of(new Links(LinkDataSheet.of(figures, measured), measured));
    } catch (IllegalArgumentException e) {
      throw on.wrong("--links", e);
    }
  }

  /** Says what a data sheet misses: its figures may be those of another machine. */
  private static void report(Links links, SampleSet set, PrintWriter report) {
    List<CollectiveSample> measured = new ArrayList<>(links.measured());
    measured.addAll(set.collectives());
    List<Links.Miss> misses = links.misses(measured);
    report.println(links.describe());
    if (!misses.isEmpty()) {
      Table<Links.Miss> table =
          new Table<>(misses)
              .left("collective", miss -> miss.worst().shown())
              .right("devices", miss -> miss.worst().devices())
              .right("per node", miss -> miss.worst().devicesPerNode())
              .right("missed", miss -> miss.missed() + " of " + miss.measured())
              .right("worst: bytes", "%,.0f", miss -> miss.worst().mostBytes())
              .right("measured ms", "%.4f", miss -> miss.worst().longestMs())
              .right("data sheet ms", "%.4f", Links.Miss::sheetMs);
      report.print("The data sheet misses by more than a third:\n" + table);
    }
  }

  /** One progress bar for each net. */
  private static final class Bars implements TrainingProgress, AutoCloseable {
    private String net = "";
    private ProgressBar bar;

    @Override
    public void epoch(String name, int epoch, int epochs, double trainLoss, double mape) {
      if (!name.equals(net)) {
        close();
        net = name;
        bar = Progress.bar("Training " + name, epochs);
      }
      bar.setExtraMessage("loss %.3f, validation error %.2f %%".formatted(trainLoss, 100 * mape));
      bar.stepTo(epoch);
    }

    @Override
    public void close() {
      if (bar != null) {
        bar.close();
      }
    }
  }
}
