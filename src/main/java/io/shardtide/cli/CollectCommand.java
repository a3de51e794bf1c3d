package io.shardtide.cli;

import com.github.freva.asciitable.AsciiTable;
import com.github.freva.asciitable.Column;
import com.github.freva.asciitable.HorizontalAlign;
import io.shardtide.cost.CommunicationSample;
import io.shardtide.cost.ComputeSample;
import io.shardtide.cost.SampleSet;
import io.shardtide.domain.Shard;
import io.shardtide.neuroshard.SampleWriter;
import io.shardtide.trainer.Measurements;
import io.shardtide.trainer.RandomPlans;
import java.io.IOException;
import java.io.PrintWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.concurrent.Callable;
import java.util.stream.Stream;
import me.tongfei.progressbar.ProgressBar;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;

/** Measures this machine, for a cost model of it. */
@Command(
    name = "collect",
    description = {
      "Measures random table sets and exchanges on this machine with the reference trainer, and writes the samples that"
          + " pretrain reads.",
      "Costs are processor time of the devices' threads, as of devices that each have a core of their own."
    },
    mixinStandardHelpOptions = true)
final class CollectCommand implements Callable<Integer> {
  private static final int MAX_DEVICES = 64;

  /** Shardings that take turns: a gigabyte or two of tables, and some seconds. */
  private static final int TOGETHER = 12;

  @Spec private CommandSpec spec;

  @Option(
      names = "--hardware",
      required = true,
      paramLabel = "NAME",
      description =
          "Name of this machine's kind, such as cpu-xeon; clusters name it to use the model.")
  private String hardware;

  @Option(
      names = "--out",
      required = true,
      paramLabel = "DIR",
      description = "Where to write the samples: an empty folder, or one that is not there yet.")
  private Path out;

  @Option(
      names = "--plans",
      paramLabel = "N",
      defaultValue = "480",
      description =
          "Shardings to measure; each gives a compute sample a device and an exchange. Default: ${DEFAULT-VALUE}.")
  private int plans;

  @Option(
      names = "--devices",
      paramLabel = "N,N..",
      split = ",",
      defaultValue = "2,3,4",
      description = "Numbers of devices, in turn. Default: ${DEFAULT-VALUE}.")
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
          "Steps in each of four turns, of which the first is not counted. Default: ${DEFAULT-VALUE}.")
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
      description =
          "Seed of tables and shardings; what they cost is measured anew. Default: ${DEFAULT-VALUE}.")
  private long seed;

  private final List<ComputeSample> compute = new ArrayList<>();
  private final SortedMap<Integer, List<CommunicationSample>> exchanges = new TreeMap<>();
  private final List<Double> noise = new ArrayList<>();

  @Override
  public Integer call() throws IOException {
    check();
    RandomPlans random = new RandomPlans(tables, seed);
    Measurements machine =
        new Measurements(batchSize, steps, Runtime.getRuntime().availableProcessors(), seed);
    try (ProgressBar bar = Progress.bar("Measuring", plans)) {
      machine.warmUp(random, devices.get(0));
      for (int done = 0; done < plans; done += TOGETHER) {
        List<Measurements.ShardedWorkload> group = new ArrayList<>();
        for (int p = done; p < Math.min(plans, done + TOGETHER); p++) {
          group.add(random.next(devices.get(p % devices.size())));
        }
        List<Measurements.MeasuredSharding> measured = machine.measure(group);
        for (int p = 0; p < group.size(); p++) {
          add(group.get(p), measured.get(p));
        }
        bar.stepBy(group.size());
      }
    }
    SampleSet samples = new SampleSet(random.tables(), batchSize, compute, exchanges);
    SampleWriter.write(samples, about(), out);
    print(spec.commandLine().getOut());
    return 0;
  }

  private void check() throws IOException {
    if (devices.isEmpty() || devices.stream().anyMatch(d -> d < 2 || d > MAX_DEVICES)) {
      throw new ParameterException(
          spec.commandLine(),
          "--devices is %s; legal are numbers from 2 to %d".formatted(devices, MAX_DEVICES));
    }
    if (plans < 1 || tables < 1 || steps < 2) {
      throw new ParameterException(
          spec.commandLine(),
          "--plans is %d, --tables %d, --steps %d; legal are numbers from 1, and from 2"
              .formatted(plans, tables, steps));
    }
    int most = devices.stream().mapToInt(Integer::intValue).max().orElseThrow();
    if (batchSize < most) {
      throw new ParameterException(
          spec.commandLine(),
          "--batch-size is %d; legal is a sample for each of %d devices, and more"
              .formatted(batchSize, most));
    }
    if (Files.exists(out)) {
      try (Stream<Path> there = Files.list(out)) {
        if (there.findAny().isPresent()) {
          throw new ParameterException(
              spec.commandLine(), "--out %s is not empty; legal is an empty folder".formatted(out));
        }
      }
    }
  }

  private void add(Measurements.ShardedWorkload plan, Measurements.MeasuredSharding measured) {
    int[] columns = new int[plan.devices()];
    for (int d = 0; d < plan.devices(); d++) {
      List<ComputeSample.SampledShard> shards = new ArrayList<>();
      for (Shard shard : plan.shards()) {
        if (shard.device() == d) {
          shards.add(
              new ComputeSample.SampledShard(Integer.parseInt(shard.table()), shard.columns()));
          columns[d] += shard.columns();
        }
      }
      if (!shards.isEmpty()) {
        compute.add(new ComputeSample(shards, measured.costs().devices().get(d).computeMs()));
      }
    }
    exchanges
        .computeIfAbsent(plan.devices(), d -> new ArrayList<>())
        .add(CommunicationSample.ofStep(columns, measured.costs().measured()));
    noise.add(measured.noise());
  }

  private SortedMap<String, String> about() {
    return new TreeMap<>(
        java.util.Map.of(
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
    exchanges.forEach(
        (count, list) ->
            rows.add(
                new String[] {
                  "exchanges of %d devices".formatted(count), "%,d".formatted(list.size()), ""
                }));
    rows.add(new String[] {"computation, least", "%.3f".formatted(ms[0]), "ms"});
    rows.add(new String[] {"computation, median", "%.3f".formatted(ms[ms.length / 2]), "ms"});
    rows.add(new String[] {"computation, most", "%.3f".formatted(ms[ms.length - 1]), "ms"});
    rows.add(
        new String[] {
          "a usual step is above an undisturbed one by", "%.1f".formatted(100 * median()), "%"
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
