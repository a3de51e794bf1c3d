package io.shardtide.cli;

import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.SerializationFeature;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.shardtide.cost.Accuracy;
import io.shardtide.cost.CostModel;
import io.shardtide.cost.ModelBundle;
import io.shardtide.cost.SampleSet;
import io.shardtide.cost.tensorflow.TensorFlowTowers;
import io.shardtide.neuroshard.Samples;
import java.io.PrintWriter;
import java.nio.file.Path;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/** Measures how well a model predicts labelled samples. */
@Command(
    name = "evaluate",
    description =
        "Prints how well a cost model predicts labelled samples, as JSON; errors are fractions.",
    mixinStandardHelpOptions = true)
final class EvaluateCommand implements Callable<Integer> {
  @Spec private CommandSpec spec;

  @Option(
      names = "--samples",
      required = true,
      paramLabel = "DIR",
      description = "Folder with compute/data.txt and comm_D/data.txt, plain or .gz.")
  private Path samples;

  @Option(
      names = "--tables",
      paramLabel = "FILE",
      description = "table_configs.json. Default: the one in the samples' folder or beside it.")
  private Path tables;

  @Mixin private ModelOption model;

  @Override
  public Integer call() throws Exception {
    ModelBundle bundle = model.load();
    SampleSet set = Samples.read(samples, tables == null ? Samples.findTables(samples) : tables);
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
