package io.shardtide.cli;

import io.shardtide.cost.ModelBundle;
import io.shardtide.models.ModelFiles;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.function.Supplier;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;

/** The option that names a cost model. */
final class ModelOption {
  @Spec(Spec.Target.MIXEE)
  private CommandSpec command;

  @Option(
      names = "--model",
      paramLabel = "FILE",
      description =
          "Cost model bundle; a command that plans takes several, of different hardware. Default: the"
              + " shipped one of the hardware, else simulated.avro; see models/.")
  private List<Path> files = List.of();

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
   * Returns the bundle of the option, if it was given; a usage error if several were.
   *
   * @throws io.shardtide.cost.InvalidModelException if it cannot be used
   */
  Optional<ModelBundle> given() throws IOException {
    if (files.size() > 1) {
      throw new ParameterException(
          command.commandLine(),
          "--model must be given once, got %d files".formatted(files.size()));
    }
    return files.isEmpty() ? Optional.empty() : Optional.of(ModelFiles.read(files.get(0)));
  }

  /**
   * Returns the bundles of the option; a usage error if two are of the same hardware.
   *
   * @throws io.shardtide.cost.InvalidModelException if one cannot be used
   */
  List<ModelBundle> allGiven() throws IOException {
    List<ModelBundle> bundles = new ArrayList<>();
    for (Path file : files) {
      ModelBundle bundle = ModelFiles.read(file);
      if (bundles.stream().anyMatch(other -> other.hardware().equals(bundle.hardware()))) {
        throw new ParameterException(
            command.commandLine(),
            "--model must be of different hardware, got \"%s\" twice"
                .formatted(Printable.of(bundle.hardware())));
      }
      bundles.add(bundle);
    }
    return bundles;
  }
}
