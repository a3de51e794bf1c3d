package io.shardtide.cli;

import com.github.freva.asciitable.AsciiTable;
import com.github.freva.asciitable.Column;
import com.github.freva.asciitable.ColumnData;
import com.github.freva.asciitable.HorizontalAlign;
import io.shardtide.bench.BestKnownSteps;
import io.shardtide.bench.RegretBenchmark;
import io.shardtide.bench.RegretBenchmark.BudgetResult;
import io.shardtide.bench.RegretBenchmark.RegretBudget;
import io.shardtide.bench.RegretBenchmark.RegretRow;
import io.shardtide.bench.RegretWorkloads;
import io.shardtide.cost.TablePrediction;
import io.shardtide.samples.WorkloadTask;
import io.shardtide.search.GroupedProblem;
import java.io.IOException;
import java.io.PrintWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.OptionalDouble;
import java.util.Set;
import java.util.function.Function;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import me.tongfei.progressbar.ProgressBar;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;

/** The options of {@code bench search --regret}, and what it prints. */
final class BenchRegretOption {
  private static final List<String> OTHERS =
      List.of("--budgets", "--workloads", "--only", "--known", "--best", "--write");

  @Spec(Spec.Target.MIXEE)
  private CommandSpec spec;

  @Option(
      names = "--regret",
      description =
          "Instead: by how much predicted steps of searches from scratch are above the best known"
              + " ones, by budget; of the demo's and twelve random workloads.")
  private boolean isGiven;

  @Option(
      names = "--budgets",
      split = ",",
      paramLabel = "N",
      converter = SearchBudget.class,
      description =
          "With --regret: further budgets, in evaluations a table, besides the quick search's and"
              + " the default one.")
  private List<Long> budgets = List.of();

  @Option(
      names = "--workloads",
      arity = "1..*",
      paramLabel = "FILE",
      description =
          "With --regret: other workloads, as for plan --workloads; of a folder, its files with"
              + " .jsonl in their names.")
  private List<Path> workloads = List.of();

  @Option(
      names = "--only",
      paramLabel = "TEXT",
      description = "With --regret: only workloads with this text in their names.")
  private String only = "";

  @Option(
      names = "--known",
      paramLabel = "FILE",
      description =
          "With --regret: best known steps, as --write writes them. Default: the shipped ones, of"
              + " the built-in workloads.")
  private Path known;

  @Option(
      names = "--best",
      paramLabel = "N",
      converter = SearchBudget.class,
      description =
          "With --regret: also searches for the best known steps, with N evaluations a table, a"
              + " tenth of it on more than 16 devices.")
  private Long best;

  @Option(
      names = "--write",
      paramLabel = "FILE",
      description =
          "With --regret: writes the least step of each workload, of this run, the best known ones"
              + " and those that FILE has.")
  private Path write;

  boolean isGiven() {
    if (!isGiven) {
      OTHERS.stream()
          .filter(name -> spec.commandLine().getParseResult().hasMatchedOption(name))
          .findFirst()
          .ifPresent(
              name -> {
                throw new ParameterException(spec.commandLine(), name + " needs --regret");
              });
    }
    return isGiven;
  }

  int run() throws IOException {
    List<WorkloadTask> tasks = tasks().stream().filter(task -> task.name().contains(only)).toList();
    if (tasks.isEmpty()) {
      throw new ParameterException(
          spec.commandLine(),
          "--only must be part of the name of a workload, got \"%s\"".formatted(only));
    }
    if (write != null) {
      // What cannot be written is said before the searches.
      Files.createDirectories(write.toAbsolutePath().getParent());
    }
    BestKnownSteps steps = known == null ? BestKnownSteps.shipped() : BestKnownSteps.read(known);
    BestKnownSteps written =
        write != null && Files.exists(write) ? BestKnownSteps.read(write) : BestKnownSteps.none();
    List<RegretBudget> all =
        Stream.of(
                RegretBudget.usual().stream(),
                budgets.stream().map(RegretBudget::of),
                Stream.ofNullable(best).map(RegretBudget::best))
            .flatMap(Function.identity())
            .toList();
    List<RegretRow> rows;
    try (PlanModels models = PlanModels.of(List.of(), true);
        ProgressBar bar = Progress.bar("Searching", (long) tasks.size() * all.size())) {
      rows =
          new RegretBenchmark(task -> problem(models, task), steps, Progress.steps(bar))
              .run(tasks, all);
    }
    if (write != null) {
      RegretBenchmark.addBest(rows, command(), written);
      written.write(write);
    }
    print(spec.commandLine().getOut(), rows, all);
    return 0;
  }

  /** Returns what was run, to be run again. */
  private String command() {
    return Stream.concat(
            Stream.of("shardtide"),
            spec.root().commandLine().getParseResult().originalArgs().stream())
        .map(arg -> arg.contains(" ") ? '"' + arg + '"' : arg)
        .collect(Collectors.joining(" "));
  }

  private List<WorkloadTask> tasks() throws IOException {
    if (workloads.isEmpty()) {
      return RegretWorkloads.all();
    }
    List<WorkloadTask> tasks = new ArrayList<>();
    Set<String> names = new HashSet<>();
    for (Path file : files()) {
      for (WorkloadTask task : WorkloadTask.read(file)) {
        String name = task.name();
        for (int copy = 2; !names.add(name); copy++) {
          name = "%s (%d)".formatted(task.name(), copy);
        }
        tasks.add(new WorkloadTask(name, task.tables(), task.cluster()));
      }
    }
    return tasks;
  }

  private List<Path> files() throws IOException {
    List<Path> files = new ArrayList<>();
    for (Path path : workloads) {
      if (Files.isDirectory(path)) {
        try (Stream<Path> inside = Files.list(path)) {
          inside
              .filter(file -> file.getFileName().toString().contains(".jsonl"))
              .sorted()
              .forEach(files::add);
        }
      } else {
        files.add(path);
      }
    }
    return files;
  }

  private static GroupedProblem problem(PlanModels models, WorkloadTask task) {
    PlanModels.PlanModel model = models.of(task.cluster().hardware());
    List<TablePrediction> predictions = model.towers().predict(task.tables(), task.cluster());
    return new GroupedProblem(predictions, task.cluster(), model.cost());
  }

  private static void print(PrintWriter out, List<RegretRow> rows, List<RegretBudget> budgets) {
    List<ColumnData<RegretRow>> columns = new ArrayList<>();
    columns.add(column("workload", HorizontalAlign.LEFT, RegretRow::workload));
    columns.add(number("tables", row -> Integer.toString(row.tables())));
    columns.add(number("devices", row -> Integer.toString(row.devices())));
    columns.add(
        number(
            "best known ms", row -> ms(row.referenceMs()) + (row.known().isPresent() ? "" : " *")));
    for (int b = 0; b < budgets.size(); b++) {
      int budget = b;
      Function<RegretRow, BudgetResult> result = row -> row.results().get(budget);
      columns.add(
          number(
              budgets.get(b).name() + " ms",
              row -> result.apply(row).ms().isEmpty() ? "no plan" : ms(result.apply(row).ms())));
      columns.add(
          number(
              "regret %",
              row -> {
                OptionalDouble regret = row.regret(result.apply(row));
                return regret.isEmpty() ? "" : "%.2f".formatted(100 * regret.getAsDouble());
              }));
      columns.add(number("s", row -> "%.2f".formatted(result.apply(row).seconds())));
      columns.add(number("evaluations", row -> "%,d".formatted(result.apply(row).evaluations())));
    }
    out.println(AsciiTable.getTable(rows, columns));
    if (rows.stream().anyMatch(row -> row.known().isEmpty())) {
      out.println("* none is known of this problem: the least of this run");
    }
    RegretBenchmark.improvements(rows).forEach(out::println);
    out.println(RegretBenchmark.summary(rows));
    out.flush();
  }

  private static String ms(OptionalDouble ms) {
    return ms.isEmpty() ? "" : "%.4f".formatted(ms.getAsDouble());
  }

  private static ColumnData<RegretRow> number(String header, Function<RegretRow, String> value) {
    return column(header, HorizontalAlign.RIGHT, value);
  }

  private static ColumnData<RegretRow> column(
      String header, HorizontalAlign align, Function<RegretRow, String> value) {
    return new Column().header(header).dataAlign(align).with(value);
  }
}
