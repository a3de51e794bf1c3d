package io.shardtide.bench;

import io.shardtide.cost.ModelBundle;
import io.shardtide.models.ModelFiles;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.function.BiConsumer;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.results.RunResult;
import org.openjdk.jmh.runner.BenchmarkList;
import org.openjdk.jmh.runner.BenchmarkListEntry;
import org.openjdk.jmh.runner.Runner;
import org.openjdk.jmh.runner.RunnerException;
import org.openjdk.jmh.runner.format.OutputFormatFactory;
import org.openjdk.jmh.runner.options.Options;
import org.openjdk.jmh.runner.options.OptionsBuilder;
import org.openjdk.jmh.runner.options.TimeValue;
import org.openjdk.jmh.runner.options.VerboseMode;

/** Runs the JMH benchmarks. */
public final class MicroBenchmarks {
  private MicroBenchmarks() {}

  /**
   * The score of a benchmark.
   *
   * @param name the benchmark's method
   * @param nanos mean time per operation, in nanoseconds
   * @param error half of the 99.9% confidence interval, in nanoseconds; NaN with too few iterations
   */
  public record BenchmarkScore(String name, double nanos, double error) {}

  /** Returns the names of all benchmarks of a model. */
  public static List<String> names(ModelBundle bundle) {
    return entries(bundle).stream().map(BenchmarkListEntry::getUsername).toList();
  }

  private static List<BenchmarkListEntry> entries(ModelBundle bundle) {
    return BenchmarkList.defaultList()
        .getAll(OutputFormatFactory.createFormatInstance(System.err, VerboseMode.SILENT), List.of())
        .stream()
        .filter(entry -> bundle.launches().isEmpty() || !isOfTensorFlowHead(entry))
        .sorted(Comparator.comparing(BenchmarkListEntry::getUsername))
        .toList();
  }

  /** TensorFlow has no head of models with launch groups. */
  private static boolean isOfTensorFlowHead(BenchmarkListEntry entry) {
    return entry.getUsername().contains("headInTensorFlow");
  }

  /**
   * Runs the benchmarks one after another, each in its own process.
   *
   * @param model the model's file
   * @param brief whether to run one iteration of 100 ms each, as a smoke test; in this process,
   *     except for benchmarks of a cold start
   * @param progress receives each name and the number of benchmarks done
   */
  public static List<BenchmarkScore> run(
      Path model, boolean brief, BiConsumer<String, Integer> progress) throws IOException {
    List<BenchmarkScore> measured = new ArrayList<>();
    for (BenchmarkListEntry entry : entries(ModelFiles.read(model))) {
      String name = entry.getUsername();
      progress.accept(name, measured.size());
      OptionsBuilder options = new OptionsBuilder();
      options.include(name.replace(".", "\\.") + "$").verbosity(VerboseMode.SILENT);
      options.param("model", model.toString());
      options.forks(brief && entry.getMode() != Mode.SingleShotTime ? 0 : 1);
      if (brief) {
        options.warmupIterations(0);
        options.measurementIterations(1);
        options.measurementTime(TimeValue.milliseconds(100));
      }
      measured.add(run(options.build()));
    }
    return measured;
  }

  private static BenchmarkScore run(Options options) {
    try {
      RunResult result = new Runner(options).runSingle();
      return new BenchmarkScore(
          result.getPrimaryResult().getLabel(),
          result.getPrimaryResult().getScore(),
          result.getPrimaryResult().getScoreError());
    } catch (RunnerException e) {
      throw new IllegalStateException(e.getMessage(), e);
    }
  }
}
