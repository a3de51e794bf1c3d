package io.shardtide.cli;

import io.shardtide.torchrec.Modules;
import io.shardtide.torchrec.Target;
import io.shardtide.workload.ComputeKernel;
import java.util.List;
import java.util.Objects;
import java.util.stream.Stream;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;

/** The options of {@code --format torchrec}. */
final class TorchRecOption {
  @Spec(Spec.Target.MIXEE)
  private CommandSpec command;

  @Option(
      names = "--module",
      paramLabel = "PATH",
      description =
          "torchrec: path of the EmbeddingBagCollection in the model. Of several collections PATH=TABLE,TABLE,... each;"
              + " may be repeated. Default: "
              + Target.DEFAULT_MODULE)
  private List<String> modules;

  @Option(
      names = "--devices-per-node",
      paramLabel = "N",
      description =
          "torchrec: devices that share a node, if no workload says it. Default: "
              + Target.DEFAULT_DEVICES_PER_NODE)
  private Integer devicesPerNode;

  @Option(
      names = "--devices-per-host",
      paramLabel = "N",
      description =
          "torchrec: devices of a host, where a node spans several, if no workload says it. Default: those of a node")
  private Integer devicesPerHost;

  @Option(
      names = "--kernel",
      paramLabel = "NAME",
      description =
          "torchrec: fused or dense, of tables in device memory that are not data_parallel and name none. Default: fused")
  private ComputeKernel kernel;

  @Option(
      names = "--processor",
      paramLabel = "NAME",
      description = "torchrec: cuda or cpu. Default: cuda")
  private Target.Processor processor;

  @Option(
      names = "--reshardable",
      description =
          "torchrec: write plans that DistributedModelParallel.reshard supports: each table whose shards have all rows"
              + " column_wise, at most one shard per device.")
  private Boolean reshardable;

  /**
   * Returns what these options ask for; a usage error if one is invalid.
   *
   * @param wanted whether the format is torchrec; if not, none of the options may be given
   */
  Target target(boolean wanted) {
    if (!wanted
        && Stream.of(modules, devicesPerNode, devicesPerHost, kernel, processor, reshardable)
            .anyMatch(Objects::nonNull)) {
      throw new ParameterException(
          command.commandLine(),
          "--module, --devices-per-node, --devices-per-host, --kernel, --processor and --reshardable need --format torchrec");
    }
    Target base = Target.DEFAULT;
    try {
      return new Target(
          modules == null ? base.modules() : Modules.parse(modules),
          kernel == null ? base.kernel() : kernel,
          processor == null ? base.processor() : processor,
          devicesPerNode == null ? base.devicesPerNode() : devicesPerNode,
          devicesPerHost == null ? base.devicesPerHost() : devicesPerHost,
          reshardable != null && reshardable);
    } catch (IllegalArgumentException e) {
      throw new ParameterException(command.commandLine(), e.getMessage(), e);
    }
  }
}
