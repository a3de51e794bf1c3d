package io.shardtide.cli;

import io.shardtide.cost.ModelBundle;
import io.shardtide.wire.ModelFiles;
import java.io.IOException;
import java.nio.file.Path;
import picocli.CommandLine.Option;

/** The option that names a cost model. */
final class ModelOption {
  @Option(
      names = "--model",
      paramLabel = "FILE",
      description =
          "Cost model bundle. Default: the shipped one, trained on simulated costs, see models/.")
  private Path file;

  /**
   * Returns the bundle.
   *
   * @throws io.shardtide.cost.InvalidModelException if it cannot be used
   */
  ModelBundle load() throws IOException {
    return file == null ? ModelFiles.shipped() : ModelFiles.read(file);
  }
}
