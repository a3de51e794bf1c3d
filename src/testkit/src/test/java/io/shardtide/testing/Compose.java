package io.shardtide.testing;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.yaml.snakeyaml.Yaml;

/** What {@code docker/compose.yaml} says, so that tests run on the images that it names. */
public final class Compose {
  private static final Path FILE = Path.of("docker/compose.yaml");

  private Compose() {}

  /** Returns the file, with aliases put in. */
  public static JsonNode file() {
    return read(FILE);
  }

  /** Returns a file in YAML. */
  public static JsonNode read(Path file) {
    try {
      // Jackson by itself resolves no aliases and no merges.
      Object tree = new Yaml().load(Files.readString(file));
      return new ObjectMapper().valueToTree(tree);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** Returns the image of a service. */
  public static String image(String service) {
    return file().at("/services/%s/image".formatted(service)).asText();
  }
}
