package io.shardtide.cli;

import io.shardtide.cost.ModelBundle;
import io.shardtide.wire.ModelFiles;
import java.io.IOException;
import java.nio.file.Path;
import java.util.function.Supplier;
import picocli.CommandLine.Option;

/** The option that names a cost model. */
final class ModelOption {
  @Option(
      names = "--model",
      paramLabel = "FILE",
      description =
          "Cost model bundle. Default: a shipped one, trained on simulated costs: simulated.avro, and simulated-8xh100.avro for the demo; see models/.")
  private Path file;

  /**
   * Returns the bundle.
   *
   * @throws io.shardtide.cost.InvalidModelException if it cannot be used
   */
  ModelBundle load() throws IOException {
    return load(ModelFiles::shipped);
  }

  /**
   * Returns the bundle of the option, or a default.
   *
   * @throws io.shardtide.cost.InvalidModelException if it cannot be used
   */
  ModelBundle load(Supplier<ModelBundle> byDefault) throws IOException {
    return file == null ? byDefault.get() : ModelFiles.read(file);
  }
}
