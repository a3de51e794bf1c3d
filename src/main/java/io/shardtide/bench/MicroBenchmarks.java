package io.shardtide.bench;

import java.util.ArrayList;
import java.util.List;
import java.util.function.BiConsumer;
import org.openjdk.jmh.results.RunResult;
import org.openjdk.jmh.runner.BenchmarkList;
import org.openjdk.jmh.runner.Runner;
import org.openjdk.jmh.runner.RunnerException;
import org.openjdk.jmh.runner.format.OutputFormatFactory;
import org.openjdk.jmh.runner.options.Options;
import org.openjdk.jmh.runner.options.OptionsBuilder;
import org.openjdk.jmh.runner.options.TimeValue;
import org.openjdk.jmh.runner.options.VerboseMode;

/** Runs the JMH benchmarks, each in a process of its own. */
public final class MicroBenchmarks {
  private MicroBenchmarks() {}

  /**
   * What one benchmark measured.
   *
   * @param name the benchmark's method
   * @param nanos mean time of one operation, in nanoseconds
   * @param error half of the 99.9% confidence interval, in nanoseconds; NaN where there are too few
   *     runs
   */
  public record BenchmarkScore(String name, double nanos, double error) {}

  /** Returns the names of all benchmarks. */
  public static List<String> names() {
    return BenchmarkList.defaultList()
        .getAll(OutputFormatFactory.createFormatInstance(System.err, VerboseMode.SILENT), List.of())
        .stream()
        .map(entry -> entry.getUsername())
        .sorted()
        .toList();
  }

  /**
   * Runs the benchmarks one after another.
   *
   * @param brief a tenth of the time, for a look whether they run
   * @param progress hears each name and how many are done
   */
  public static List<BenchmarkScore> run(boolean brief, BiConsumer<String, Integer> progress) {
    List<BenchmarkScore> measured = new ArrayList<>();
    for (String name : names()) {
      progress.accept(name, measured.size());
      OptionsBuilder options = new OptionsBuilder();
      options.include(name.replace(".", "\\.") + "$").verbosity(VerboseMode.SILENT);
      options.forks(1);
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
