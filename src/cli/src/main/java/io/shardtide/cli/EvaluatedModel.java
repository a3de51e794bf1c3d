package io.shardtide.cli;

import com.fasterxml.jackson.annotation.JsonUnwrapped;
import io.shardtide.cost.Accuracy;
import io.shardtide.cost.CollectiveSample;
import io.shardtide.cost.Evaluation;
import io.shardtide.cost.Evaluation.CollectivePrediction;
import io.shardtide.cost.Evaluation.ComputePrediction;
import io.shardtide.cost.ModelBundle;
import io.shardtide.cost.TrainedRanges;
import io.shardtide.plan.OutOfRange;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;
import java.util.TreeMap;
import java.util.function.BiConsumer;
import java.util.function.Function;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * How well a model predicts labelled samples. Errors are fractions of what was measured.
 *
 * @param model its id
 * @param hardware whose costs it predicts
 * @param simulated whether it was trained on simulated costs
 * @param collectivesFromDataSheet collectives whose costs follow from a data sheet
 * @param caches what it says of caches that were not measured
 * @param collectivesNotPredicted samples of collectives that it was not trained on
 * @param errors of all samples, and of groups of them
 * @param worst the samples with the largest errors
 */
record EvaluatedModel(
    String model,
    String hardware,
    boolean simulated,
    List<String> collectivesFromDataSheet,
    Optional<String> caches,
    int collectivesNotPredicted,
    List<GroupError> errors,
    List<SampleError> worst) {
  private static final String COMPUTE = "compute";
  private static final String ALL = "all";
  private static final String INSIDE = "inside the training range";
  private static final int WORST = 10;
  private static final int BAR = 20;

  /**
   * Errors of a group of samples.
   *
   * @param cost {@code compute}, or a collective
   * @param of what the samples have in common
   */
  record GroupError(String cost, String of, @JsonUnwrapped Accuracy accuracy) {}

  /**
   * A sample and its error.
   *
   * @param sample its position in its file, from 0
   * @param measuredMs of a collective, the mean over devices
   * @param what its tables, or the size of the collective
   * @param outOfRange values outside the training range
   */
  record SampleError(
      String cost,
      int sample,
      double measuredMs,
      double predictedMs,
      double error,
      String what,
      List<String> outOfRange) {

    static SampleError of(ComputePrediction computation) {
      return new SampleError(
          COMPUTE,
          computation.number(),
          computation.sample().computeMs(),
          computation.predictedMs(),
          computation.error(),
          computation.sample().shards().stream()
              .map(shard -> shard.table().name() + " x " + shard.table().columns())
              .collect(Collectors.joining(", ")),
          describe(computation.outOfRange()));
    }

    static SampleError of(CollectivePrediction collective) {
      CollectiveSample sample = collective.sample();
      return new SampleError(
          sample.shown(),
          collective.number(),
          Arrays.stream(sample.ms()).average().orElse(0),
          collective.predictedMs().stream().mapToDouble(ms -> ms).average().orElse(0),
          collective.error(),
          "%d devices, %d a node, %.0f bytes"
              .formatted(
                  sample.devices(),
                  sample.devicesPerNode(),
                  Arrays.stream(sample.bytes()).max().orElse(0)),
          describe(collective.outOfRange()));
    }

    private static List<String> describe(List<OutOfRange> values) {
      return values.stream().sorted(OutOfRange.ORDER).map(OutOfRange::describe).toList();
    }
  }

  /**
   * @param reuseOnly predictions of the same samples as if no access CDF were known
   * @param withoutUse predictions as if nothing were known of the use of rows
   */
  static EvaluatedModel of(
      ModelBundle bundle, Evaluation evaluation, Evaluation reuseOnly, Evaluation withoutUse) {
    List<GroupError> errors = new ArrayList<>();
    List<ComputePrediction> computations = evaluation.computations();
    if (!computations.isEmpty()) {
      BiConsumer<String, List<ComputePrediction>> add =
          (of, some) -> errors.add(new GroupError(COMPUTE, of, Accuracy.ofComputations(some)));
      add.accept(ALL, computations);
      add.accept("no access CDF known", reuseOnly.computations());
      add.accept("no use of rows known", withoutUse.computations());
      if (!bundle.card().heldOutTables().isEmpty()) {
        by(computations, c -> c.familiarity(), of -> PlanText.lower(of) + " tables", add);
      }
      by(
          computations,
          c -> power(2, c.sample().shards().size()),
          "from %,d shards"::formatted,
          add);
      by(computations, c -> power(10, mostRows(c)), "from %,d rows"::formatted, add);
      byRange(computations, ComputePrediction::outOfRange, add);
    }
    List<CollectivePrediction> collectives = evaluation.collectives();
    collectives.stream()
        .collect(Collectors.groupingBy(c -> c.sample().shown(), TreeMap::new, Collectors.toList()))
        .forEach(
            (cost, some) -> {
              BiConsumer<String, List<CollectivePrediction>> add =
                  (of, part) -> errors.add(new GroupError(cost, of, Accuracy.ofCollectives(part)));
              add.accept(ALL, some);
              by(some, c -> c.sample().devices(), "%d devices"::formatted, add);
              byRange(some, CollectivePrediction::outOfRange, add);
            });
    return new EvaluatedModel(
        bundle.modelId(),
        bundle.hardware(),
        bundle.card().simulated(),
        bundle.fromDataSheet(),
        bundle.describeCaches(),
        evaluation.notPredicted(),
        errors,
        Stream.concat(
                worst(computations.stream().map(SampleError::of)),
                worst(collectives.stream().map(SampleError::of)))
            .toList());
  }

  /** Adds the group of each key, in their order. */
  private static <T, K> void by(
      List<T> samples,
      Function<T, K> key,
      Function<K, String> label,
      BiConsumer<String, List<T>> add) {
    samples.stream()
        .collect(Collectors.groupingBy(key, TreeMap::new, Collectors.toList()))
        .forEach((of, some) -> add.accept(label.apply(of), some));
  }

  /** Adds samples inside the training range, and those outside by the quantity that is. */
  private static <T> void byRange(
      List<T> samples, Function<T, List<OutOfRange>> places, BiConsumer<String, List<T>> add) {
    add.accept(INSIDE, samples.stream().filter(c -> places.apply(c).isEmpty()).toList());
    for (String quantity : TrainedRanges.QUANTITIES) {
      List<T> outside =
          samples.stream()
              .filter(c -> places.apply(c).stream().anyMatch(o -> o.quantity().equals(quantity)))
              .toList();
      if (!outside.isEmpty()) {
        add.accept("outside in " + quantity, outside);
      }
    }
  }

  /** Returns the largest power that is not above a number. */
  private static long power(int base, long number) {
    long power = 1;
    while (power <= number / base) {
      power *= base;
    }
    return power;
  }

  private static long mostRows(ComputePrediction computation) {
    return computation.sample().shards().stream()
        .mapToLong(shard -> shard.table().rows())
        .max()
        .orElse(1);
  }

  private static Stream<SampleError> worst(Stream<SampleError> samples) {
    return samples.sorted(Comparator.comparingDouble(SampleError::error).reversed()).limit(WORST);
  }

  /** Returns the errors, and where they are largest. */
  Printed show() {
    Printed out = new Printed();
    out.line("model %s for hardware %s%s", model, hardware, simulated ? PlanText.SIMULATED : "");
    double most = errors.stream().mapToDouble(e -> e.accuracy().mape()).max().orElse(0);
    out.table(
        new Table<>(errors)
            .left("cost", GroupError::cost)
            .left("samples of", GroupError::of)
            .right("samples", "%,d", e -> e.accuracy().samples())
            .left(
                "mean error",
                e -> new Bar(BAR, most, List.of(new Bar.Part("red", "█", e.accuracy().mape()))))
            .percent("", e -> e.accuracy().mape())
            .percent("99th percentile", e -> e.accuracy().p99RelativeError())
            .right("Kendall's tau", "%.4f", e -> e.accuracy().kendall())
            .percent("forward", e -> e.accuracy().forwardMape())
            .percent("backward", e -> e.accuracy().backwardMape()));
    out.line("");
    out.line("largest errors:");
    out.table(
        new Table<>(worst)
            .left("cost", SampleError::cost)
            .right("sample", "%,d", SampleError::sample)
            .right("measured ms", "%.3f", SampleError::measuredMs)
            .right("predicted ms", "%.3f", SampleError::predictedMs)
            .percent("error", SampleError::error)
            .left("outside the training range", e -> String.join("; ", e.outOfRange()))
            .left("of", SampleError::what));
    return out;
  }
}
