package io.shardtide.cli;

import com.github.freva.asciitable.AsciiTable;
import com.github.freva.asciitable.Column;
import com.github.freva.asciitable.HorizontalAlign;
import io.shardtide.bench.soak.FaultKind;
import io.shardtide.bench.soak.Soak;
import io.shardtide.bench.soak.SoakResult;
import java.io.IOException;
import java.io.PrintWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.Callable;
import java.util.stream.Collectors;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;

/** Runs a cluster under load, does to it what happens in production, and checks the guarantees. */
@Command(
    name = "soak",
    description = {
      "Three brokers, three planners and two registries, in processes of their own, work under"
          + " load, while they are killed, restarted, paused, cut off, slowed down, moved, filled"
          + " up and told a wrong time, one thing after another. Then everything on the log is"
          + " checked: nothing lost, nothing twice, nothing out of order, each plan a function of"
          + " the log.",
      "Exit status 1 if a guarantee does not hold."
    },
    footer = {"", "Example:", "  shardtide bench soak"},
    mixinStandardHelpOptions = true)
final class BenchSoakCommand implements Callable<Integer> {
  @Spec private CommandSpec spec;

  @Option(
      names = "--minutes",
      paramLabel = "N",
      defaultValue = "10",
      description = "How long things go wrong. Default: ${DEFAULT-VALUE}.")
  private double minutes;

  @Option(
      names = "--seed",
      paramLabel = "N",
      description = "Repeats the faults of a run, which prints its seed. Default: a random one.")
  private Long seed;

  @Option(
      names = "--workloads",
      paramLabel = "N",
      defaultValue = "20",
      description = "Number of workloads, of 12 tables each. Default: ${DEFAULT-VALUE}.")
  private int workloads;

  @Option(
      names = "--per-second",
      paramLabel = "N",
      defaultValue = "5",
      description = "Changes a second, over all workloads. Default: ${DEFAULT-VALUE}.")
  private double perSecond;

  @Option(
      names = "--faults",
      paramLabel = "A,B",
      split = ",",
      description =
          "Only these of ${COMPLETION-CANDIDATES}. Default: all that this machine can do.")
  private List<FaultKind> faults = List.of();

  @Option(
      names = "--out",
      paramLabel = "DIR",
      description =
          "An empty folder for the data and the output of all processes, which stays. Default: a"
              + " temporary one.")
  private Path out;

  @Override
  public Integer call() throws IOException, InterruptedException {
    atLeast("--minutes", minutes, 0.1);
    atLeast("--workloads", workloads, 1);
    atLeast("--per-second", perSecond, 0.1);
    long drawn = seed == null ? new Random().nextInt(1_000_000) : seed;
    PrintWriter console = spec.commandLine().getOut();
    Path directory = out == null ? Files.createTempDirectory("shardtide-soak") : out;
    Files.createDirectories(directory);
    try (var files = Files.list(directory)) {
      if (files.findAny().isPresent()) {
        throw new ParameterException(
            spec.commandLine(), "--out must be an empty folder, got " + directory);
      }
    }
    LoggingConfigurator.logKafkaClientsTo(directory.resolve("clients.out"));
    console.printf("seed %d, everything is in %s%n", drawn, directory);
    console.flush();
    SoakResult result =
        Soak.run(
            new Soak.SoakOptions(
                Duration.ofMillis((long) (minutes * 60_000)),
                drawn,
                workloads,
                perSecond,
                Set.copyOf(faults)),
            directory,
            line -> {
              console.println(line);
              console.flush();
            });
    console.println();
    console.println(table(result));
    console.printf(
        "%,d events answered, median %.2f s, p99 %.2f s; %,d without an answer%n%n",
        result.answered(), seconds(result.median()), seconds(result.p99()), result.unanswered());
    console.println(result.report());
    console.printf(
        "The same faults again: ./shardtide bench soak --minutes %s --seed %d --workloads %d --per-second %s%s%n",
        minutes,
        drawn,
        workloads,
        perSecond,
        faults.isEmpty()
            ? ""
            : faults.stream()
                .map(FaultKind::name)
                .collect(Collectors.joining(",", " --faults ", "")));
    console.flush();
    return result.isClean() ? 0 : 1;
  }

  private void atLeast(String option, double value, double least) {
    if (!(value >= least)) {
      throw new ParameterException(
          spec.commandLine(), "%s must be at least %s, got %s".formatted(option, least, value));
    }
  }

  private static double seconds(Duration duration) {
    return duration.toMillis() / 1e3;
  }

  private static String table(SoakResult result) {
    return AsciiTable.getTable(
        result.faults(),
        List.of(
            new Column()
                .header("fault")
                .dataAlign(HorizontalAlign.LEFT)
                .with(SoakResult.FaultCost::fault),
            new Column().header("times").with(cost -> Integer.toString(cost.count())),
            new Column()
                .header("longest wait, median")
                .with(cost -> "%.2f s".formatted(seconds(cost.median()))),
            new Column()
                .header("maximum")
                .with(cost -> "%.2f s".formatted(seconds(cost.longest()))),
            new Column()
                .header("after its end")
                .with(cost -> "%.2f s".formatted(seconds(cost.afterwards()))),
            new Column()
                .header("errors at publishers")
                .with(cost -> Long.toString(cost.failures())),
            new Column()
                .header("alert, times")
                .dataAlign(HorizontalAlign.LEFT)
                .with(
                    cost ->
                        cost.alert()
                            .map(alert -> "%s, %d".formatted(alert, cost.alerted()))
                            .orElse(""))));
  }
}
