package io.shardtide.cli;

import io.shardtide.config.ServiceSettings;
import io.shardtide.cost.ModelBundle;
import io.shardtide.models.ModelFiles;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Collectors;

/** The cost models that a service publishes at startup. */
final class RunningModels {
  private RunningModels() {}

  /** Returns the models that are shipped, the measured one first. */
  static List<ModelBundle> shipped() {
    return List.of(ModelFiles.shippedForH200(), ModelFiles.shippedForNodes(), ModelFiles.shipped());
  }

  /** Returns the id of a model, and which of its costs nobody measured, for people. */
  static String describe(ModelBundle bundle) {
    return bundle.shown()
        + (bundle.card().simulated() ? ", trained on simulated costs" : "")
        + bundle.unmeasured().stream().map(text -> ", " + text).collect(Collectors.joining());
  }

  /**
   * Loads the settings' models, or the shipped ones, in the order of their hardware.
   *
   * @throws io.shardtide.cost.InvalidModelException if one cannot be used
   * @throws IllegalArgumentException if two are for the same hardware
   * @throws IOException if a file cannot be read
   */
  static List<ModelBundle> load(ServiceSettings settings) throws IOException {
    Map<String, ModelBundle> bundles = new TreeMap<>();
    if (settings.models().isEmpty()) {
      shipped().forEach(shipped -> bundles.put(shipped.hardware(), shipped));
    }
    for (Path file : settings.models()) {
      ModelBundle bundle = ModelFiles.read(file);
      if (bundles.put(bundle.hardware(), bundle) != null) {
        throw new IllegalArgumentException(
            "models must have one file for each hardware: %s is the second for \"%s\""
                .formatted(file, bundle.hardware()));
      }
    }
    return List.copyOf(bundles.values());
  }
}
