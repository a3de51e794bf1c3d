package io.shardtide.cli;

import com.fasterxml.jackson.annotation.JsonProperty;
import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.core.StreamReadFeature;
import com.fasterxml.jackson.databind.exc.UnrecognizedPropertyException;
import com.fasterxml.jackson.dataformat.yaml.YAMLMapper;
import io.shardtide.config.Secrets;
import io.shardtide.files.MalformedFileException;
import io.shardtide.files.TextFiles;
import io.shardtide.wire.Topics;
import io.shardtide.workload.Names;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermission;
import java.util.Collections;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;

/**
 * A cluster that a user works with, so that a call need not name it: from options, variables, or a
 * file with several of them.
 *
 * @param bootstrapServer address of the Kafka cluster; null if it is not known
 * @param registry address of the schema registry; null if it is not known
 * @param prefix prefix of the topics' names; null for the default
 * @param settings settings of the clients, as in a file of {@code --command-config}; null for none
 */
record Context(
    @JsonProperty("bootstrap-server") String bootstrapServer,
    @JsonProperty("registry") String registry,
    @JsonProperty("prefix") String prefix,
    @JsonProperty("settings") Map<String, String> settings) {
  /** Where a cluster can be named but in the call, for messages. */
  static final String ELSEWHERE =
      "SHARDTIDE_BOOTSTRAP_SERVER and SHARDTIDE_REGISTRY, or a context in"
          + " ~/.config/shardtide/config.yaml";

  private static final Set<PosixFilePermission> OTHERS_READ =
      Set.of(PosixFilePermission.GROUP_READ, PosixFilePermission.OTHERS_READ);

  private static final YAMLMapper YAML =
      YAMLMapper.builder().enable(StreamReadFeature.STRICT_DUPLICATE_DETECTION).build();

  Context {
    prefix = prefix == null ? Topics.DEFAULT_PREFIX : prefix;
    settings = settings == null ? Map.of() : settings;
  }

  private record ContextFile(
      @JsonProperty("context") String context,
      @JsonProperty("contexts") TreeMap<String, Context> contexts) {}

  /**
   * Returns the cluster of a call. A context counts only if neither the call nor a variable has an
   * address: its passwords are for its cluster.
   *
   * @param variables the variables of the environment
   * @param bootstrapServer what the call says; null if nothing
   * @param registry what the call says; null if nothing
   * @throws IOException if the file of contexts cannot be read
   * @throws IllegalArgumentException if it leaves open which context is meant, or shows a password
   *     to others
   */
  static Context find(Map<String, String> variables, String bootstrapServer, String registry)
      throws IOException {
    Context named =
        new Context(
            bootstrapServer == null ? variables.get("SHARDTIDE_BOOTSTRAP_SERVER") : bootstrapServer,
            registry == null ? variables.get("SHARDTIDE_REGISTRY") : registry,
            null,
            null);
    String file = variables.get("SHARDTIDE_CONFIG");
    Path path =
        file == null
            ? Path.of(variables.getOrDefault("HOME", ""), ".config", "shardtide", "config.yaml")
            : Path.of(file);
    boolean isNamed = named.bootstrapServer != null || named.registry != null;
    return isNamed || (file == null && !Files.exists(path)) ? named : read(path);
  }

  private static Context read(Path file) throws IOException {
    ContextFile read = parse(file);
    Map<String, Context> all = read.contexts == null ? Map.of() : read.contexts;
    String name = read.context;
    if (name == null && all.size() == 1) {
      name = all.keySet().iterator().next();
    }
    if (name == null || all.get(name) == null) {
      throw new MalformedFileException(
          file,
          0,
          "context must be the name of one of its contexts %s, got %s"
              .formatted(all.keySet(), name == null ? "none" : Names.quote(name)));
    }
    Context context = all.get(name);
    Optional<String> secret =
        context.settings.keySet().stream().filter(key -> isSecret(context, key)).findFirst();
    if (secret.isPresent()
        && Files.getFileStore(file).supportsFileAttributeView("posix")
        && !Collections.disjoint(Files.getPosixFilePermissions(file), OTHERS_READ)) {
      throw new MalformedFileException(
          file,
          0,
          "others may read it, and it holds %s of context %s. Maybe: chmod 600 %s"
              .formatted(secret.get(), Names.quote(name), file));
    }
    return context;
  }

  private static boolean isSecret(Context context, String key) {
    String value = String.valueOf(context.settings.get(key));
    return !Secrets.shown(key, value).equals(value);
  }

  private static ContextFile parse(Path file) throws IOException {
    try {
      return YAML.readValue(TextFiles.read(file), ContextFile.class);
    } catch (UnrecognizedPropertyException e) {
      throw new MalformedFileException(
          file,
          e.getLocation().getLineNr(),
          "there is no key %s%s"
              .formatted(
                  Names.quote(e.getPropertyName()),
                  UsageErrors.hint(
                      e.getPropertyName(),
                      e.getKnownPropertyIds().stream().map(String::valueOf).toList())));
    } catch (JsonProcessingException e) {
      throw new MalformedFileException(
          file, Math.max(0, e.getLocation().getLineNr()), e.getOriginalMessage());
    }
  }
}
