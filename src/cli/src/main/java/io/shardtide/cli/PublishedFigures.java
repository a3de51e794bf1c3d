package io.shardtide.cli;

import com.fasterxml.jackson.annotation.JsonValue;
import io.shardtide.cost.CostModel;
import io.shardtide.cost.ModelBundle;
import io.shardtide.cost.tensorflow.TensorFlowTowers;
import io.shardtide.files.MalformedFileException;
import io.shardtide.plan.DeviceCost;
import io.shardtide.plan.SearchSettings;
import io.shardtide.samples.PublishedFigure;
import io.shardtide.samples.WorkloadTask;
import io.shardtide.search.GroupSearch;
import io.shardtide.search.GroupedProblem;
import io.shardtide.search.problem.SearchResult;
import io.shardtide.workload.ClusterSpec;
import io.shardtide.workload.ClusterSpecBuilder;
import java.io.IOException;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.OptionalDouble;
import java.util.function.Function;
import java.util.stream.Collectors;

/**
 * Figures that others measured, and what a model says of the same workloads.
 *
 * @param model its id
 * @param hardware whose costs it predicts; workloads are planned as if on it
 * @param figures a row for each figure
 */
record PublishedFigures(String model, String hardware, List<Row> figures) {
  private static final double BYTES_PER_GB = 1e9;

  /** What a figure's prediction is. */
  enum Verdict {
    RIGHT("right"),
    /** What should be above 0 is not. */
    WRONG_ORDER("wrong order"),
    TOO_FAR("error above tolerance"),
    /** Memory, which is to be an upper bound. */
    TOO_LOW("below what was measured"),
    NO_PLAN("no plan"),
    NOT_COMPARED("not compared");

    private final String label;

    Verdict(String label) {
      this.label = label;
    }

    @JsonValue
    String label() {
      return label;
    }

    boolean isWrong() {
      return this != RIGHT && this != NOT_COMPARED;
    }
  }

  /**
   * A figure beside its prediction.
   *
   * @param unit of both
   * @param predicted empty if nothing is compared, or a workload has no plan
   * @param error as a share of the figure, above 0 if too much is predicted; empty if either is
   */
  record Row(
      String what,
      String unit,
      OptionalDouble measured,
      OptionalDouble predicted,
      OptionalDouble error,
      OptionalDouble tolerance,
      Verdict verdict,
      String card,
      String scope,
      String source,
      String note) {
    static Row of(PublishedFigure figure, Map<String, SearchResult> plans) {
      OptionalDouble predicted = OptionalDouble.empty();
      if (!figure.plus().isEmpty()) {
        String quantity = figure.quantity();
        double sum = sum(quantity, figure.plus(), plans) - sum(quantity, figure.minus(), plans);
        predicted = Double.isNaN(sum) ? predicted : OptionalDouble.of(sum);
      }
      OptionalDouble error =
          predicted.isPresent() && figure.measured().isPresent()
              ? OptionalDouble.of(predicted.getAsDouble() / figure.measured().getAsDouble() - 1)
              : OptionalDouble.empty();
      return new Row(
          figure.what(),
          switch (figure.quantity()) {
            case "step" -> "ms";
            case "memory" -> "GB";
            case "bandwidth" -> "GB/s";
            default -> "";
          },
          figure.measured(),
          predicted,
          error,
          figure.tolerance(),
          verdict(figure, predicted, error),
          figure.card(),
          figure.scope(),
          figure.source(),
          figure.note());
    }

    private static double sum(
        String quantity, List<String> tasks, Map<String, SearchResult> plans) {
      return tasks.stream()
          .mapToDouble(task -> PublishedFigures.predicted(quantity, plans.get(task)))
          .sum();
    }

    private static Verdict verdict(
        PublishedFigure figure, OptionalDouble predicted, OptionalDouble error) {
      if (figure.plus().isEmpty()) {
        return Verdict.NOT_COMPARED;
      } else if (predicted.isEmpty()) {
        return Verdict.NO_PLAN;
      } else if (predicted.getAsDouble() <= 0) {
        return Verdict.WRONG_ORDER;
      }
      boolean isBound = figure.quantity().equals("memory");
      if (isBound && figure.minus().isEmpty() && error.orElse(0) < 0) {
        return Verdict.TOO_LOW;
      }
      return Math.abs(error.orElse(0)) <= figure.tolerance().orElse(Double.POSITIVE_INFINITY)
          ? Verdict.RIGHT
          : Verdict.TOO_FAR;
    }
  }

  /**
   * Plans the workloads that figures name, with the default settings.
   *
   * @param figuresFile figures, of workloads in workloads.jsonl beside it, plain or .gz
   * @throws MalformedFileException if a file does not have its format, or lacks a workload
   */
  static PublishedFigures of(ModelBundle bundle, Path figuresFile, Path workloadsFile, LateBar bar)
      throws IOException {
    List<PublishedFigure> figures = PublishedFigure.read(figuresFile);
    Map<String, WorkloadTask> tasks =
        WorkloadTask.read(workloadsFile).stream()
            .collect(Collectors.toMap(WorkloadTask::name, Function.identity()));
    Map<String, SearchResult> plans = new LinkedHashMap<>();
    try (bar;
        TensorFlowTowers towers = new TensorFlowTowers(bundle)) {
      CostModel cost = new CostModel(bundle);
      for (int i = 0; i < figures.size(); i++) {
        for (List<String> names : List.of(figures.get(i).plus(), figures.get(i).minus())) {
          for (String name : names) {
            if (!tasks.containsKey(name)) {
              throw new MalformedFileException(
                  figuresFile,
                  i + 1,
                  "workload must be in %s, got \"%s\"".formatted(workloadsFile, name));
            }
            plans.computeIfAbsent(name, of -> plan(tasks.get(of), bundle, cost, towers));
          }
        }
        bar.show(i + 1L, figures.size());
      }
    }
    return new PublishedFigures(
        bundle.modelId(),
        bundle.hardware(),
        figures.stream().map(of -> Row.of(of, plans)).toList());
  }

  private static SearchResult plan(
      WorkloadTask task, ModelBundle bundle, CostModel cost, TensorFlowTowers towers) {
    ClusterSpec cluster =
        ClusterSpecBuilder.builder(task.cluster()).hardware(bundle.hardware()).build();
    return GroupSearch.search(
        new GroupedProblem(towers.predict(task.tables(), cluster), cluster, cost),
        SearchSettings.DEFAULTS);
  }

  /** Returns a quantity of a plan; NaN if there is none. */
  private static double predicted(String quantity, SearchResult result) {
    if (!(result instanceof SearchResult.Found found)) {
      return Double.NaN;
    }
    return quantity.equals("memory")
        ? found.deviceCosts().stream().mapToLong(DeviceCost::memoryBytes).max().orElse(0)
            / BYTES_PER_GB
        : found.predictedMs();
  }

  /** Returns the figures that are compared and wrong. */
  List<Row> wrong() {
    return figures.stream().filter(row -> row.verdict().isWrong()).toList();
  }

  /** Returns the figures, and the sources of all. */
  Printed show() {
    Printed out = new Printed();
    out.line("model %s for hardware %s", model, hardware);
    out.table(
        new Table<>(figures)
            .left("figure", Row::what)
            .left("unit", Row::unit)
            .right("measured", "%.1f", Row::measured)
            .right("predicted", "%.1f", Row::predicted)
            .percent("error", Row::error)
            .percent("tolerance", Row::tolerance)
            .left("", row -> row.verdict().label())
            .left("card", Row::card)
            .left("of", Row::scope)
            .left("source", Row::source));
    return out;
  }
}
