package io.shardtide.cli;

import com.github.freva.asciitable.AsciiTable;
import com.github.freva.asciitable.Column;
import com.github.freva.asciitable.ColumnData;
import com.github.freva.asciitable.HorizontalAlign;
import io.shardtide.bench.growth.GrowthResult;
import io.shardtide.bench.growth.GrowthResult.AnnouncedEnd;
import io.shardtide.bench.growth.GrowthResult.HeldRanges;
import io.shardtide.bench.growth.GrowthScenario;
import io.shardtide.bench.growth.GrowthScenario.MemoryLimit;
import io.shardtide.bench.growth.GrowthYear;
import io.shardtide.cost.ModelBundle;
import io.shardtide.cost.tensorflow.TensorFlowTowers;
import io.shardtide.growth.DayTexts;
import io.shardtide.models.ModelFiles;
import io.shardtide.workload.ByteSizes;
import java.io.PrintWriter;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.concurrent.Callable;
import java.util.function.Function;
import me.tongfei.progressbar.ProgressBar;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;

/** Benchmark of forecasts and resizes of tables that grow. */
@Command(
    name = "growth",
    description = {
      "Hashed tables that grow for a year, on 16 devices: resizes and memory beside those of a"
          + " planner that knows the future, and how often forecasts hold. Growth has seasons,"
          + " weekdays and bursts; that of one table doubles every 50 days. Plans are real ones."
          + " Then the same with too little memory: when its end is announced.",
      "Growth, reports and costs are simulated. Takes a minute or two."
    },
    footer = {"", "Example:", "  shardtide bench growth --seed 2"},
    mixinStandardHelpOptions = true)
final class BenchGrowthCommand implements Callable<Integer> {
  /** Days before the end of which forecasts are shown, beside the first one. */
  private static final int[] SHOWN_DAYS = {45, 30, 21, 14, 7, 3};

  @Spec private CommandSpec spec;

  @Option(
      names = "--seed",
      paramLabel = "N",
      defaultValue = "1",
      description = "Seed of tables and growth. Default: ${DEFAULT-VALUE}.")
  private long seed;

  @Option(
      names = "--days",
      paramLabel = "N",
      defaultValue = "365",
      description = "Days, 60 to 730. Default: ${DEFAULT-VALUE}.")
  private int days;

  @Option(
      names = "--tables",
      paramLabel = "N",
      defaultValue = "48",
      description = "Tables of a fixed size, 0 to 1000. Default: ${DEFAULT-VALUE}.")
  private int tables;

  @Option(
      names = "--hashed",
      paramLabel = "N",
      defaultValue = "12",
      description = "Hashed tables, 1 to 1000. Default: ${DEFAULT-VALUE}.")
  private int hashed;

  /** A row of figures. */
  private record Figure(String name, String value, String target) {}

  @Override
  public Integer call() {
    GrowthScenario enough = scenario(MemoryLimit.ENOUGH);
    GrowthResult year;
    GrowthResult ended;
    ModelBundle bundle = ModelFiles.shippedForNodes();
    try (TensorFlowTowers towers = new TensorFlowTowers(bundle);
        ProgressBar bar = Progress.bar("Growing", 2L * days)) {
      year = GrowthYear.run(enough, bundle, towers, Progress.steps(bar));
      bar.stepTo(days);
      ended = GrowthYear.run(scenario(MemoryLimit.SHORT), bundle, towers, Progress.steps(bar));
      bar.stepTo(2L * days);
    }
    PrintWriter out = spec.commandLine().getOut();
    out.println(
        "%d days, %d tables, %d of them hashed, 16 devices; simulated"
            .formatted(days, tables + hashed, hashed));
    print(
        figures(year),
        List.of(
            left("figure", Figure::name),
            right("measured", Figure::value),
            right("target", Figure::target)));
    print(
        year.ranges(),
        List.of(
            left("90% range of", HeldRanges::what),
            right("cases", range -> "%,d".formatted(range.cases())),
            right("held", range -> Double.isNaN(range.share()) ? "" : percent(range.share()))));
    printEnd(out, ended);
    out.flush();
    return 0;
  }

  private GrowthScenario scenario(MemoryLimit memory) {
    try {
      return new GrowthScenario(seed, days, tables, hashed, memory);
    } catch (IllegalArgumentException e) {
      throw new ParameterException(spec.commandLine(), e.getMessage());
    }
  }

  private static List<Figure> figures(GrowthResult year) {
    return List.of(
        new Figure("first table full", day(year.full()), "never"),
        new Figure("resizes without a plan", Integer.toString(year.plansNotFound()), "0"),
        new Figure(
            "fullest device of any plan, of its memory",
            percent(year.fullestDevice()),
            "at most 100%"),
        new Figure("reshards", Integer.toString(year.resizes()), ""),
        new Figure("of a planner that knows the future", Integer.toString(year.knownResizes()), ""),
        new Figure(
            "ratio", number("%.2f", (double) year.resizes() / year.knownResizes()), "at most 1.5"),
        new Figure(
            "bytes of capacity relative to that planner's",
            number("%.3f", year.memoryRatio()),
            "at most 1.15"),
        new Figure("slots in use, by bytes", percent(year.fill()), ""),
        new Figure("moved shards", Integer.toString(year.moved()), ""),
        new Figure("moved bytes", ByteSizes.describe(year.movedBytes()), ""));
  }

  private void printEnd(PrintWriter out, GrowthResult ended) {
    if (ended.memoryFull().isEmpty()) {
      out.println("With less memory: it held all tables.");
      return;
    }
    double end = ended.memoryFull().get();
    out.println(
        "With less memory: full on day %s; first table full: %s; %s"
            .formatted(
                number("%.1f", end),
                day(ended.full()),
                ended.announced().isEmpty()
                    ? "not announced"
                    : "announced %s days before"
                        .formatted(number("%.1f", end - ended.announced().get(0).day()))));
    print(
        shown(ended.announced(), end),
        List.of(
            right("day", announced -> number("%.1f", announced.day())),
            right("actual end, days", announced -> number("%.1f", end - announced.day())),
            right("announced, 90% range", announced -> DayTexts.of(announced.inDays()))));
  }

  private static List<AnnouncedEnd> shown(List<AnnouncedEnd> all, double end) {
    List<AnnouncedEnd> shown = new ArrayList<>();
    all.stream().findFirst().ifPresent(shown::add);
    for (int before : SHOWN_DAYS) {
      all.stream()
          .filter(announced -> announced.day() <= end - before)
          .max(Comparator.comparingDouble(AnnouncedEnd::day))
          .filter(announced -> !shown.contains(announced))
          .ifPresent(shown::add);
    }
    return shown;
  }

  private <R> void print(List<R> rows, List<ColumnData<R>> columns) {
    spec.commandLine().getOut().println(AsciiTable.getTable(rows, columns));
  }

  private static <R> ColumnData<R> left(String header, Function<R, String> value) {
    return new Column().header(header).dataAlign(HorizontalAlign.LEFT).with(value);
  }

  private static <R> ColumnData<R> right(String header, Function<R, String> value) {
    return new Column().header(header).dataAlign(HorizontalAlign.RIGHT).with(value);
  }

  private static String day(Optional<Double> day) {
    return day.map(d -> "day " + number("%.1f", d)).orElse("never");
  }

  private static String percent(double share) {
    return number("%.1f%%", 100 * share);
  }

  private static String number(String format, double value) {
    return String.format(Locale.ROOT, format, value);
  }
}
