package io.shardtide.cli;

import io.shardtide.cost.ModelBundle;
import io.shardtide.models.ModelFiles;
import java.io.IOException;
import java.nio.file.Path;
import java.util.Optional;
import java.util.function.Supplier;
import picocli.CommandLine.Option;

/** The option that names a cost model. */
final class ModelOption {
  @Option(
      names = "--model",
      paramLabel = "FILE",
      description =
          "Cost model bundle. Default: a shipped one: for the demo h200.avro; for plan --workloads that of the cluster's hardware; else simulated.avro; see models/.")
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
    return given().orElseGet(byDefault);
  }

  /**
   * Returns the bundle of the option, if it was given.
   *
   * @throws io.shardtide.cost.InvalidModelException if it cannot be used
   */
  Optional<ModelBundle> given() throws IOException {
    return file == null ? Optional.empty() : Optional.of(ModelFiles.read(file));
  }
}
