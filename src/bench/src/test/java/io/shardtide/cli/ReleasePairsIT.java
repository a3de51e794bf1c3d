package io.shardtide.cli;

import static org.assertj.core.api.Assertions.assertThat;

import io.shardtide.bench.Figures;
import io.shardtide.bench.service.PlannersRun;
import io.shardtide.testing.EarlierVersion;
import io.shardtide.testing.RunningService;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import java.util.zip.GZIPInputStream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The last release and this version, in turns on this machine. A figure is the least of its rounds,
 * because noise only makes it larger; what looks slower is measured again before it is red.
 */
@Tag("nightly")
class ReleasePairsIT {
  private static final Logger log = LoggerFactory.getLogger(ReleasePairsIT.class);

  private static final double SLOWER = 1.15;

  /**
   * Offline plans: of 0.2.0 a search ended where its starts did, now it has 8,000 evaluations a
   * table, and finds plans that are 0.15% better.
   */
  private static final double SEARCHES_MORE = 4;

  /** The rows of {@code bench latency} that say how long all of it takes. */
  private static final Pattern MEDIAN =
      Pattern.compile("(?m)^\\| *(\\d+ tables), [^|]*\\| *([0-9.]+)");

  private static final int ROUNDS = 2;
  private static final int MOST_ROUNDS = 5;
  private static final long MINUTES = 5;

  @TempDir private Path folder;

  /** Returns figures of one round of a version, by name; the less the better. */
  private interface Round {
    Map<String, Double> measure(String classPath) throws Exception;
  }

  @Test
  void a_change_has_its_plan_as_soon() throws Exception {
    compare(
        classPath -> {
          String out = run(classPath, "bench", "latency", "--changes", "60", "--per-second", "8");
          Map<String, Double> medians = new HashMap<>();
          MEDIAN
              .matcher(out)
              .results()
              .forEach(row -> medians.put(row.group(1), Double.valueOf(row.group(2))));
          assertThat(medians).as(out).hasSize(2);
          return medians;
        },
        SLOWER);
  }

  @Test
  void a_change_takes_no_more_of_the_processor_and_a_planner_starts_as_soon() throws Exception {
    compare(
        classPath -> {
          Figures figures = new PlannersRun(50, 26, 300, 1, 50, 20, 1024, classPath).run();
          return Stream.of(
                  "processor time of a change, folding and predicting",
                  "processor time of a change, planning",
                  "one planner restarts, state kept",
                  "one planner restarts, state lost")
              .collect(Collectors.toMap(Function.identity(), figures::get));
        },
        SLOWER);
  }

  @Test
  void a_cold_plan_is_there_as_soon() throws Exception {
    Path tasks = folder.resolve("tasks.jsonl");
    try (InputStream in =
        new GZIPInputStream(
            Files.newInputStream(
                Path.of("src/models/src/test/resources/reference/tasks/8gpu_dim16.jsonl.gz")))) {
      Files.copy(in, tasks);
    }
    compare(
        classPath -> {
          long began = System.nanoTime();
          run(
              classPath,
              "plan",
              "--workloads",
              tasks.toString(),
              "--out",
              folder.resolve("plans.jsonl").toString());
          return Map.of("plan of NeuroShard's tasks", (System.nanoTime() - began) / 1e9);
        },
        SEARCHES_MORE);
  }

  private void compare(Round round, double most) throws Exception {
    String released = EarlierVersion.released();
    Map<String, Double> then = new HashMap<>();
    Map<String, Double> now = new HashMap<>();
    for (int r = 0; r < ROUNDS || (r < MOST_ROUNDS && worst(then, now) > most); r++) {
      round.measure(released).forEach((name, figure) -> then.merge(name, figure, Math::min));
      round
          .measure(System.getProperty("java.class.path"))
          .forEach((name, figure) -> now.merge(name, figure, Math::min));
    }
    now.forEach(
        (name, figure) ->
            log.info(
                String.format(
                    Locale.ROOT,
                    "%-60s %8.2f, of the last release %8.2f: %.2f times",
                    name,
                    figure,
                    then.get(name),
                    figure / then.get(name))));
    assertThat(worst(then, now)).as("%s of %s", now, then).isLessThanOrEqualTo(most);
  }

  private static double worst(Map<String, Double> then, Map<String, Double> now) {
    return now.entrySet().stream()
        .mapToDouble(of -> of.getValue() / then.get(of.getKey()))
        .max()
        .orElseThrow();
  }

  /** Runs a command of a version as its program does, and returns what it prints. */
  private String run(String classPath, String... arguments) throws Exception {
    Path out = folder.resolve("out");
    Path err = folder.resolve("err");
    Process process =
        RunningService.program(List.of("-Xmx2g"), classPath, arguments)
            .redirectOutput(out.toFile())
            .redirectError(err.toFile())
            .start();
    boolean ended = process.waitFor(MINUTES, TimeUnit.MINUTES);
    process.destroyForcibly();
    assertThat(ended && process.exitValue() == 0).as(Files.readString(err)).isTrue();
    return Files.readString(out);
  }
}
