package io.shardtide.cli;

import com.fasterxml.jackson.databind.ObjectMapper;
import com.github.freva.asciitable.AsciiTable;
import com.github.freva.asciitable.Column;
import com.github.freva.asciitable.HorizontalAlign;
import io.shardtide.cost.CollectiveSample;
import io.shardtide.cost.ComputeSample;
import io.shardtide.cost.DeviceShard;
import io.shardtide.cost.MeasuredCollectives;
import io.shardtide.cost.SampleSet;
import io.shardtide.cost.SampledShard;
import io.shardtide.cost.StepWire;
import io.shardtide.domain.ClusterSpec;
import io.shardtide.domain.Collective;
import io.shardtide.domain.Direction;
import io.shardtide.domain.Shard;
import io.shardtide.domain.TableSpec;
import io.shardtide.samples.SampleFolderWriter;
import io.shardtide.trainer.Measurements;
import io.shardtide.trainer.RandomPlans;
import io.shardtide.trainer.StepCosts;
import java.io.IOException;
import java.io.PrintWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.concurrent.Callable;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import me.tongfei.progressbar.ProgressBar;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;

/** Measures this machine and writes samples for a cost model. */
@Command(
    name = "collect",
    description = {
      "Measures random shardings on this machine with the reference trainer, with all kinds of"
          + " shards: computation and collectives. Writes the samples that pretrain reads.",
      "Costs are processor time of the devices' threads, as if each device had a core of its own."
    },
    footer = {"", "Example:", "  shardtide collect --hardware cpu --out samples"},
    mixinStandardHelpOptions = true)
final class CollectCommand implements Callable<Integer> {
  private static final int MAX_DEVICES = 64;

  /** Shardings measured in turns: a gigabyte or two of tables, some seconds. */
  private static final int GROUP_SIZE = 12;

  @Spec private CommandSpec spec;

  @Option(
      names = "--hardware",
      required = true,
      paramLabel = "NAME",
      description =
          "Name for this kind of machine, such as cpu-xeon; a cluster names it to use the model.")
  private String hardware;

  @Option(
      names = "--out",
      required = true,
      paramLabel = "DIR",
      description = "Folder for the samples; must be empty or not exist.")
  private Path out;

  @Option(
      names = "--plans",
      paramLabel = "N",
      defaultValue = "480",
      description =
          "Shardings to measure; each gives one compute sample per device, an all-to-all in each"
              + " direction, and the collectives of its kinds of shards. Default:"
              + " ${DEFAULT-VALUE}.")
  private int plans;

  @Option(
      names = "--devices",
      paramLabel = "N,N..",
      split = ",",
      defaultValue = "2,3,4",
      description =
          "Numbers of devices, used in turn; shards of nodes need one that is not prime. Default:"
              + " ${DEFAULT-VALUE}.")
  private List<Integer> devices = List.of();

  @Option(
      names = "--batch-size",
      paramLabel = "N",
      defaultValue = "1024",
      description = "Samples in a batch, over all devices. Default: ${DEFAULT-VALUE}.")
  private int batchSize;

  @Option(
      names = "--steps",
      paramLabel = "N",
      defaultValue = "4",
      description =
          "Steps in each of four turns; the first of each turn is a warm-up. Default:"
              + " ${DEFAULT-VALUE}.")
  private int steps;

  @Option(
      names = "--tables",
      paramLabel = "N",
      defaultValue = "200",
      description = "Tables to draw from. Default: ${DEFAULT-VALUE}.")
  private int tables;

  @Option(
      names = "--seed",
      paramLabel = "N",
      defaultValue = "1",
      description = "Seed of tables and shardings. Default: ${DEFAULT-VALUE}.")
  private long seed;

  private final List<ComputeSample> compute = new ArrayList<>();
  private final List<CollectiveSample> collectives = new ArrayList<>();
  private final List<Double> noise = new ArrayList<>();

  @Override
  public Integer call() throws IOException {
    check();
    RandomPlans random = new RandomPlans(tables, seed);
    Measurements machine =
        new Measurements(batchSize, steps, Runtime.getRuntime().availableProcessors(), seed);
    try (ProgressBar bar = Progress.bar("Measuring", plans)) {
      machine.warmUp(random, devices.get(0));
      for (int done = 0; done < plans; done += GROUP_SIZE) {
        List<Measurements.ShardedWorkload> group = new ArrayList<>();
        for (int p = done; p < Math.min(plans, done + GROUP_SIZE); p++) {
          group.add(random.next(devices.get(p % devices.size())));
        }
        List<Measurements.MeasuredSharding> measured = machine.measure(group);
        for (int p = 0; p < group.size(); p++) {
          add(group.get(p), measured.get(p));
        }
        bar.stepBy(group.size());
      }
    }
    SampleSet samples = new SampleSet(random.tables(), batchSize, compute, collectives);
    SampleFolderWriter.write(samples, out);
    Files.writeString(
        out.resolve("run-info.json"),
        new ObjectMapper().writerWithDefaultPrettyPrinter().writeValueAsString(about()) + "\n");
    print(spec.commandLine().getOut());
    return 0;
  }

  private void check() throws IOException {
    if (devices.isEmpty() || devices.stream().anyMatch(d -> d < 2 || d > MAX_DEVICES)) {
      throw new ParameterException(
          spec.commandLine(),
          "--devices must be numbers from 2 to %2$d, got %1$s".formatted(devices, MAX_DEVICES));
    }
    if (plans < 1 || tables < 1 || steps < 2) {
      throw new ParameterException(
          spec.commandLine(),
          "--plans and --tables must be at least 1 and --steps at least 2, got %d, %d and %d"
              .formatted(plans, tables, steps));
    }
    int most = devices.stream().mapToInt(Integer::intValue).max().orElseThrow();
    if (batchSize < most) {
      throw new ParameterException(
          spec.commandLine(),
          "--batch-size must be at least %2$d, a sample for each device, got %1$d"
              .formatted(batchSize, most));
    }
    if (Files.exists(out)) {
      try (Stream<Path> there = Files.list(out)) {
        if (there.findAny().isPresent()) {
          throw new ParameterException(
              spec.commandLine(), "--out must be an empty folder, but %s is not".formatted(out));
        }
      }
    }
  }

  private void add(Measurements.ShardedWorkload plan, Measurements.MeasuredSharding measured) {
    StepCosts costs = measured.costs();
    ClusterSpec cluster = plan.cluster(batchSize);
    Map<String, TableSpec> byName = TableSpec.byName(plan.tables());
    for (int d = 0; d < plan.devices(); d++) {
      List<SampledShard> shards = new ArrayList<>();
      for (Shard shard : plan.shards()) {
        if (shard.isCopied() || shard.device() == d) {
          shards.add(
              DeviceShard.of(byName.get(shard.table()), shard, cluster)
                  .sampled(Integer.parseInt(shard.table())));
        }
      }
      if (!shards.isEmpty()) {
        StepCosts.DeviceStepCosts device = costs.devices().get(d);
        compute.add(
            new ComputeSample(shards, device.computeMs(), OptionalDouble.of(device.poolMs())));
      }
    }
    MeasuredCollectives ofPlan = new MeasuredCollectives(plan.shards(), StepWire.of(cluster));
    double[] bytes =
        ofPlan.columns().stream()
            .mapToDouble(columns -> (double) columns * batchSize / plan.devices() * Float.BYTES)
            .toArray();
    for (Direction direction : Direction.values()) {
      collectives.add(
          new CollectiveSample(
              Collective.ALL_TO_ALL,
              Optional.of(direction),
              plan.devices(),
              plan.devicesPerNode(),
              bytes,
              costs.allToAllMs(direction)));
    }
    ofPlan.of(costs.measuredCollectives()).forEach(c -> collectives.add(c.sample()));
    noise.add(measured.noise());
  }

  private SortedMap<String, String> about() {
    return new TreeMap<>(
        Map.of(
            "hardware", hardware,
            "measured_at", Instant.now().toString(),
            "machine",
                "%s, %d processors, Java %s"
                    .formatted(
                        System.getProperty("os.arch"),
                        Runtime.getRuntime().availableProcessors(),
                        System.getProperty("java.version")),
            "steps", Integer.toString(steps),
            "noise_of_a_step", "%.4f".formatted(median())));
  }

  private double median() {
    double[] sorted = noise.stream().mapToDouble(Double::doubleValue).sorted().toArray();
    return sorted[sorted.length / 2];
  }

  private void print(PrintWriter report) {
    double[] ms = compute.stream().mapToDouble(ComputeSample::computeMs).sorted().toArray();
    List<String[]> rows = new ArrayList<>();
    rows.add(new String[] {"compute samples", "%,d".formatted(ms.length), ""});
    SortedMap<String, Long> counts =
        collectives.stream()
            .collect(
                Collectors.groupingBy(
                    c -> "%s of %d devices".formatted(c.collective().fileName(), c.devices()),
                    TreeMap::new,
                    Collectors.counting()));
    counts.forEach(
        (name, count) ->
            rows.add(new String[] {name + ", both directions", "%,d".formatted(count), ""}));
    rows.add(new String[] {"computation, minimum", "%.3f".formatted(ms[0]), "ms"});
    rows.add(new String[] {"computation, median", "%.3f".formatted(ms[ms.length / 2]), "ms"});
    rows.add(new String[] {"computation, maximum", "%.3f".formatted(ms[ms.length - 1]), "ms"});
    rows.add(
        new String[] {
          "noise: median step above the fastest by", "%.1f".formatted(100 * median()), "%"
        });
    report.println(
        AsciiTable.getTable(
            rows,
            Arrays.asList(
                new Column().header("measured").dataAlign(HorizontalAlign.LEFT).with(r -> r[0]),
                new Column().header("value").dataAlign(HorizontalAlign.RIGHT).with(r -> r[1]),
                new Column().header("unit").dataAlign(HorizontalAlign.LEFT).with(r -> r[2]))));
    report.printf("Samples in %s%n", out);
    report.flush();
  }
}
