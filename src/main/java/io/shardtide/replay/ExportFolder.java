package io.shardtide.replay;

import io.shardtide.cost.ModelBundle;
import io.shardtide.wire.JsonLines;
import io.shardtide.wire.ModelFiles;
import java.io.BufferedReader;
import java.io.IOException;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
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
 * A folder that an export wrote: a file of JSON lines for each kind of record, and a bundle file
 * for each model. What is not there was not kept; of an events file alone, everything but the
 * events is made anew.
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

  /** Returns a folder, whose events are in {@code events.jsonl}. */
  public static ExportFolder of(Path directory) {
    return new ExportFolder(directory.resolve(RecordKind.EVENTS.file()), directory);
  }

  /**
   * Returns an events file with what lies beside it.
   *
   * @throws NoSuchFileException if there is no such file
   */
  public static ExportFolder beside(Path events) throws NoSuchFileException {
    if (!Files.isRegularFile(events)) {
      throw new NoSuchFileException(events.toString());
    }
    Path parent = events.getParent();
    return new ExportFolder(events, parent == null ? Path.of("") : parent);
  }

  /** Returns the file of a kind of record. */
  public Path file(RecordKind<?> part) {
    return part.equals(RecordKind.EVENTS) ? events : directory.resolve(part.file());
  }

  /** Returns the names of the kinds of record that are there, models included. */
  public List<String> kept() {
    List<String> kept =
        new ArrayList<>(RecordKind.ALL.stream().filter(this::has).map(RecordKind::name).toList());
    if (Files.isDirectory(directory.resolve(MODELS))) {
      kept.add(MODELS);
    }
    return kept;
  }

  @Override
  public boolean has(RecordKind<?> part) {
    return Files.isRegularFile(file(part));
  }

  @Override
  public <V> void read(RecordKind<V> part, Consumer<? super V> each) throws IOException {
    Path file = file(part);
    JsonLines<V, ?> lines = new JsonLines<>(part.codec());
    int number = 0;
    try (BufferedReader reader = Files.newBufferedReader(file, StandardCharsets.UTF_8)) {
      while (true) {
        number++;
        String line = reader.readLine();
        if (line == null) {
          return;
        }
        if (!line.isBlank()) {
          each.accept(lines.read(line));
        }
      }
    } catch (MalformedRecordException e) {
      throw e;
    } catch (CharacterCodingException e) {
      throw new MalformedRecordException(
          "%s, at or after line %d".formatted(file, number),
          new IllegalArgumentException("Not UTF-8; legal are JSON lines in UTF-8", e));
    } catch (IllegalArgumentException e) {
      throw new MalformedRecordException("%s, line %d".formatted(file, number), e);
    }
  }

  /**
   * Returns the models, by id, in the order of their ids.
   *
   * @throws io.shardtide.cost.InvalidModelException if a file is not a bundle that can be used
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
