package io.shardtide.cli;

import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.shardtide.cost.Accuracy;
import io.shardtide.cost.Evaluation;
import io.shardtide.cost.Evaluation.CollectivePrediction;
import io.shardtide.cost.Evaluation.ComputePrediction;
import io.shardtide.cost.ModelBundle;
import io.shardtide.cost.TrainedRanges;
import io.shardtide.plan.OutOfRange;
import io.shardtide.workload.Collective;
import io.shardtide.workload.Direction;
import java.util.List;
import java.util.Locale;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.function.Function;
import java.util.stream.Collectors;

/**
 * The JSON that {@code evaluate} prints: errors on all samples, on known and unseen tables, with
 * less known of the use of rows, by collective and number of devices, and inside and outside the
 * training range.
 */
final class EvaluationJson {
  private EvaluationJson() {}

  /**
   * @param reuseOnly predictions of the same samples as if no access CDF were known
   * @param withoutUse predictions as if nothing were known of the use of rows
   */
  static ObjectNode of(
      ModelBundle bundle, Evaluation evaluation, Evaluation reuseOnly, Evaluation withoutUse) {
    ObjectNode node = JsonNodeFactory.instance.objectNode();
    node.put("model", bundle.modelId());
    node.put("hardware", bundle.hardware());
    node.put("simulated", bundle.card().simulated());
    List<ComputePrediction> computations = evaluation.computations();
    if (!computations.isEmpty()) {
      put(node.putObject("compute"), Accuracy.ofComputations(computations));
      if (!bundle.card().heldOutTables().isEmpty()) {
        for (Evaluation.Familiarity familiarity : Evaluation.Familiarity.values()) {
          put(
              node.putObject("compute_" + familiarity.name().toLowerCase(Locale.ROOT)),
              Accuracy.ofComputations(
                  computations.stream().filter(c -> c.familiarity() == familiarity).toList()));
        }
      }
      put(node.putObject("compute_with_reuse_only"), Accuracy.ofSums(reuseOnly.computations()));
      put(node.putObject("compute_without_reuse"), Accuracy.ofSums(withoutUse.computations()));
    }
    List<CollectivePrediction> all = evaluation.collectives();
    ObjectNode collectives = node.putObject("collectives");
    by(all, c -> c.sample().collective().label())
        .forEach((name, list) -> put(collectives.putObject(name), Accuracy.ofCollectives(list)));
    ObjectNode byDevices = node.putObject("collectives_by_devices");
    by(all, c -> c.sample().collective().label())
        .forEach(
            (name, list) -> {
              ObjectNode ofCollective = byDevices.putObject(name);
              by(list, c -> c.sample().devices())
                  .forEach(
                      (devices, some) ->
                          put(
                              ofCollective.putObject(devices.toString()),
                              Accuracy.ofCollectives(some)));
            });
    ArrayNode fromDataSheet = node.putArray("collectives_from_data_sheet");
    bundle.fromDataSheet().forEach(fromDataSheet::add);
    bundle.describeCaches().ifPresent(text -> node.put("caches", text));
    node.put("collectives_not_predicted", evaluation.notPredicted());
    putDirections(node.putObject("comm"), all);
    putRange(node, computations, all);
    return node;
  }

  /**
   * Returns what was measured and predicted of a computation; of directions where both are known.
   */
  static ObjectNode of(ComputePrediction computation) {
    double measuredMs = computation.sample().computeMs();
    ObjectNode node =
        JsonNodeFactory.instance
            .objectNode()
            .put("sample", computation.number())
            .put("shards", computation.sample().shards().size())
            .put("measured_ms", measuredMs)
            .put("predicted_ms", computation.predictedMs());
    if (computation.forwardError().isPresent()) {
      double measuredForwardMs = computation.sample().forwardMs().orElseThrow();
      double predictedForwardMs = computation.predictedForwardMs().orElseThrow();
      node.put("measured_forward_ms", measuredForwardMs)
          .put("predicted_forward_ms", predictedForwardMs)
          .put("measured_backward_ms", measuredMs - measuredForwardMs)
          .put("predicted_backward_ms", computation.predictedMs() - predictedForwardMs);
    }
    return node.put("out_of_range", computation.outOfRange().size());
  }

  /** Puts the errors of both directions of the all-to-all by number of devices. */
  private static void putDirections(ObjectNode node, List<CollectivePrediction> all) {
    by(
            all.stream().filter(c -> c.sample().collective() == Collective.ALL_TO_ALL).toList(),
            c -> c.sample().devices())
        .forEach(
            (devices, list) -> {
              ObjectNode ofDevices = node.putObject(devices.toString());
              ofDevices.put("samples", list.size());
              for (Direction direction : Direction.values()) {
                List<CollectivePrediction> covered =
                    list.stream()
                        .filter(c -> c.sample().direction().orElse(direction) == direction)
                        .toList();
                ofDevices.put(direction.label() + "_mape", Accuracy.ofCollectives(covered).mape());
              }
            });
  }

  private static void putRange(
      ObjectNode node, List<ComputePrediction> computations, List<CollectivePrediction> all) {
    ObjectNode inside = node.putObject("inside_training");
    put(
        inside.putObject("compute"),
        Accuracy.ofComputations(
            computations.stream().filter(c -> c.outOfRange().isEmpty()).toList()));
    put(
        inside.putObject("collectives"),
        Accuracy.ofCollectives(all.stream().filter(c -> c.outOfRange().isEmpty()).toList()));
    ObjectNode outside = node.putObject("outside_training");
    ObjectNode outsideCompute = outside.putObject("compute");
    ObjectNode outsideCollectives = outside.putObject("collectives");
    for (String quantity : TrainedRanges.QUANTITIES) {
      List<ComputePrediction> some =
          computations.stream().filter(c -> has(c.outOfRange(), quantity)).toList();
      if (!some.isEmpty()) {
        put(outsideCompute.putObject(quantity), Accuracy.ofComputations(some));
      }
      List<CollectivePrediction> others =
          all.stream().filter(c -> has(c.outOfRange(), quantity)).toList();
      if (!others.isEmpty()) {
        put(outsideCollectives.putObject(quantity), Accuracy.ofCollectives(others));
      }
    }
  }

  private static <K, V> SortedMap<K, List<V>> by(List<V> values, Function<V, K> key) {
    return values.stream().collect(Collectors.groupingBy(key, TreeMap::new, Collectors.toList()));
  }

  private static boolean has(List<OutOfRange> places, String quantity) {
    return places.stream().anyMatch(place -> place.quantity().equals(quantity));
  }

  private static void put(ObjectNode node, Accuracy.Compute errors) {
    node.put("samples", errors.samples())
        .put("mape", errors.mape())
        .put("p99_relative_error", errors.p99RelativeError())
        .put("kendall", errors.kendall());
    errors.forwardMape().ifPresent(mape -> node.put("forward_mape", mape));
    errors.backwardMape().ifPresent(mape -> node.put("backward_mape", mape));
  }

  private static void put(ObjectNode node, Accuracy.Collectives errors) {
    node.put("samples", errors.samples())
        .put("mape", errors.mape())
        .put("p99_relative_error", errors.p99RelativeError());
  }
}
