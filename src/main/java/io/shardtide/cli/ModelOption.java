package io.shardtide.cli;

import io.shardtide.cost.ModelBundle;
import io.shardtide.wire.ModelFiles;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.file.Path;
import picocli.CommandLine.Option;

/** The option that names a cost model. */
final class ModelOption {
  /** The bundle that is shipped, on the class path; models/README.md is its card. */
  private static final String SHIPPED = "/models/simulated.avro";

  @Option(
      names = "--model",
      paramLabel = "FILE",
      description =
          "Cost model bundle. Default: the shipped one, trained on simulated costs; see models/.")
  private Path file;

  /**
   * Returns the bundle.
   *
   * @throws io.shardtide.cost.InvalidModelException if it cannot be used
   */
  ModelBundle load() throws IOException {
    return file == null ? shipped() : ModelFiles.read(file);
  }

  /** Returns the shipped bundle. */
  static ModelBundle shipped() {
    try (InputStream in = ModelOption.class.getResourceAsStream(SHIPPED)) {
      if (in == null) {
        throw new IllegalStateException(SHIPPED + " is missing from the class path");
      }
      return ModelFiles.read("the shipped model", in.readAllBytes());
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }
}
