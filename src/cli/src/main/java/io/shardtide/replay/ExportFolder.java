package io.shardtide.replay;

import static io.shardtide.wire.TopicType.WORKLOAD_CHANGES;

import io.shardtide.cost.ModelBundle;
import io.shardtide.files.MalformedFileException;
import io.shardtide.files.TextFiles;
import io.shardtide.models.ModelFiles;
import io.shardtide.wire.JsonLines;
import io.shardtide.wire.TopicType;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Consumer;
import java.util.stream.Stream;

/**
 * An exported log: a file of JSON lines for each kind of record, and a bundle file for each model.
 * Files may be missing.
 */
public final class ExportFolder implements LogRecords {
  /** The folder of bundle files. */
  static final String MODELS = "models";

  private final Path events;
  private final Path directory;

  private ExportFolder(Path events, Path directory) {
    this.events = events;
    this.directory = directory;
  }

  /**
   * Returns the export in a folder, with {@code events.jsonl}, or that of an events file and the
   * other exported files beside it.
   *
   * @throws NoSuchFileException if there is neither
   * @throws MalformedFileException if it is no regular file
   */
  public static ExportFolder of(Path path) throws IOException {
    if (Files.isDirectory(path)) {
      return new ExportFolder(path.resolve(LogRecords.file(WORKLOAD_CHANGES)), path);
    }
    if (!Files.exists(path)) {
      throw new NoSuchFileException(path.toString());
    }
    if (!Files.isRegularFile(path)) {
      throw new MalformedFileException(
          path, 0, "it must be a regular file, such as events.jsonl of an export");
    }
    return new ExportFolder(path, path.toAbsolutePath().getParent());
  }

  /** Returns the file of a kind of record. */
  public Path file(TopicType<?> kind) {
    return kind.equals(WORKLOAD_CHANGES) ? events : directory.resolve(LogRecords.file(kind));
  }

  /** Returns the paths that are read, of the folder of models too, whether or not they exist. */
  public List<Path> paths() {
    List<Path> paths = new ArrayList<>(NAMES.keySet().stream().map(this::file).toList());
    paths.add(directory.resolve(MODELS));
    return paths;
  }

  /** Returns the names of the kinds of records in the export, models included. */
  public List<String> kinds() {
    List<String> kinds =
        new ArrayList<>(NAMES.keySet().stream().filter(this::has).map(NAMES::get).toList());
    if (Files.isDirectory(directory.resolve(MODELS))) {
      kinds.add(MODELS);
    }
    return kinds;
  }

  @Override
  public boolean has(TopicType<?> kind) {
    return Files.isRegularFile(file(kind));
  }

  @Override
  public <V> void read(TopicType<V> kind, Consumer<? super V> each) throws IOException {
    if (!has(kind)) {
      return;
    }
    Path file = file(kind);
    JsonLines<V, ?> lines = new JsonLines<>(kind.codec());
    try {
      TextFiles.readLines(
          file,
          line -> {
            if (!line.isBlank()) {
              each.accept(lines.read(line));
            }
          });
    } catch (MalformedFileException e) {
      throw new MalformedRecordException(
          "%s, line %d".formatted(file, e.line()), new IllegalArgumentException(e.problem(), e));
    }
  }

  /**
   * Returns the models by id, in the order of their ids.
   *
   * @throws io.shardtide.cost.InvalidModelException if a file is not a valid bundle
   */
  @Override
  public Map<String, ModelBundle> models() throws IOException {
    Map<String, ModelBundle> models = new LinkedHashMap<>();
    Path folder = directory.resolve(MODELS);
    if (Files.isDirectory(folder)) {
      try (Stream<Path> files = Files.list(folder)) {
        for (Path file :
            files.filter(f -> f.getFileName().toString().endsWith(".avro")).sorted().toList()) {
          ModelBundle bundle = ModelFiles.read(file);
          models.put(bundle.modelId(), bundle);
        }
      }
    }
    return models;
  }
}
