package io.shardtide.cli;

import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.shardtide.cost.Accuracy;
import io.shardtide.cost.Evaluation;
import io.shardtide.cost.ModelBundle;
import io.shardtide.cost.TrainedRanges;
import io.shardtide.domain.OutOfRange;
import java.util.List;
import java.util.Locale;

/**
 * The JSON that {@code evaluate} prints: errors on all samples, on known and unseen tables, without
 * reuse histograms, by number of devices, and inside and outside the training range.
 */
final class EvaluationJson {
  private EvaluationJson() {}

  static ObjectNode of(ModelBundle bundle, Evaluation evaluation) {
    ObjectNode node = JsonNodeFactory.instance.objectNode();
    node.put("model", bundle.modelId());
    node.put("hardware", bundle.hardware());
    node.put("simulated", bundle.card().simulated());
    List<Evaluation.ComputePrediction> computations = evaluation.computations();
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
      put(node.putObject("compute_without_reuse"), Accuracy.withoutReuse(computations));
    }
    ObjectNode comm = node.putObject("comm");
    evaluation
        .allToAlls()
        .forEach(
            (devices, list) -> put(comm.putObject(devices.toString()), Accuracy.ofAllToAlls(list)));
    List<Evaluation.CommunicationPrediction> exchanges =
        evaluation.allToAlls().values().stream().flatMap(List::stream).toList();
    ObjectNode inside = node.putObject("inside_training");
    put(
        inside.putObject("compute"),
        Accuracy.ofComputations(
            computations.stream().filter(c -> c.outOfRange().isEmpty()).toList()));
    put(
        inside.putObject("comm"),
        Accuracy.ofAllToAlls(exchanges.stream().filter(e -> e.outOfRange().isEmpty()).toList()));
    ObjectNode outside = node.putObject("outside_training");
    ObjectNode outsideCompute = outside.putObject("compute");
    ObjectNode outsideComm = outside.putObject("comm");
    for (String quantity : TrainedRanges.QUANTITIES) {
      List<Evaluation.ComputePrediction> some =
          computations.stream().filter(c -> has(c.outOfRange(), quantity)).toList();
      if (!some.isEmpty()) {
        put(outsideCompute.putObject(quantity), Accuracy.ofComputations(some));
      }
      List<Evaluation.CommunicationPrediction> others =
          exchanges.stream().filter(e -> has(e.outOfRange(), quantity)).toList();
      if (!others.isEmpty()) {
        put(outsideComm.putObject(quantity), Accuracy.ofAllToAlls(others));
      }
    }
    return node;
  }

  private static boolean has(List<OutOfRange> places, String quantity) {
    return places.stream().anyMatch(place -> place.quantity().equals(quantity));
  }

  private static void put(ObjectNode node, Accuracy.Compute errors) {
    node.put("samples", errors.samples())
        .put("mape", errors.mape())
        .put("kendall", errors.kendall())
        .put("p99_relative_error", errors.p99RelativeError());
  }

  private static void put(ObjectNode node, Accuracy.Communication errors) {
    node.put("samples", errors.samples())
        .put("forward_mape", errors.forwardMape())
        .put("backward_mape", errors.backwardMape());
  }
}
