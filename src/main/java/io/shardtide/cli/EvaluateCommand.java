package io.shardtide.cli;

import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.SerializationFeature;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.shardtide.cost.Accuracy;
import io.shardtide.cost.CostModel;
import io.shardtide.cost.ModelBundle;
import io.shardtide.cost.SampleSet;
import io.shardtide.cost.tensorflow.TensorFlowTowers;
import java.io.PrintWriter;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Spec;

/** Measures how well a model predicts labelled samples. */
@Command(
    name = "evaluate",
    description =
        "Prints how well a cost model predicts labelled samples, as JSON; errors are fractions.",
    mixinStandardHelpOptions = true)
final class EvaluateCommand implements Callable<Integer> {
  @Spec private CommandSpec spec;

  @Mixin private SamplesOption samples;

  @Mixin private ModelOption model;

  @Override
  public Integer call() throws Exception {
    ModelBundle bundle = model.load();
    SampleSet set = samples.load();
    Accuracy accuracy;
    try (TensorFlowTowers towers = new TensorFlowTowers(bundle)) {
      accuracy = Accuracy.measure(new CostModel(bundle), towers, set);
    }
    ObjectMapper json = new ObjectMapper().enable(SerializationFeature.INDENT_OUTPUT);
    PrintWriter out = spec.commandLine().getOut();
    out.println(json.writeValueAsString(toJson(json, bundle, accuracy)));
    out.flush();
    return 0;
  }

  private static ObjectNode toJson(ObjectMapper json, ModelBundle bundle, Accuracy accuracy) {
    ObjectNode node = json.createObjectNode();
    node.put("model", bundle.modelId());
    node.put("hardware", bundle.hardware());
    node.put("simulated", bundle.card().simulated());
    accuracy
        .compute()
        .ifPresent(
            compute ->
                node.putObject("compute")
                    .put("samples", compute.samples())
                    .put("mape", compute.mape())
                    .put("kendall", compute.kendall())
                    .put("p99_relative_error", compute.p99RelativeError()));
    ObjectNode comm = node.putObject("comm");
    accuracy
        .communication()
        .forEach(
            (devices, errors) ->
                comm.putObject(devices.toString())
                    .put("samples", errors.samples())
                    .put("forward_mape", errors.forwardMape())
                    .put("backward_mape", errors.backwardMape()));
    return node;
  }
}
