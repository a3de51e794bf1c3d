package io.shardtide.replay;

import io.shardtide.cost.ModelBundle;
import io.shardtide.wire.JsonLines;
import io.shardtide.wire.ModelFiles;
import java.io.BufferedWriter;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.LinkedHashMap;
import java.util.Map;

/** Writes records to a folder, from which they can be replayed anywhere. */
public final class Export {
  private Export() {}

  /**
   * Writes all that a replay needs; each file appears whole or not at all.
   *
   * @param records what is written
   * @param directory where to
   * @return how many of each kind, by their names, models included
   */
  public static Map<String, Integer> write(LogRecords records, Path directory) throws IOException {
    Files.createDirectories(directory);
    Map<String, Integer> counts = new LinkedHashMap<>();
    for (RecordKind<?> part : RecordKind.ALL) {
      counts.put(part.name(), write(records, part, directory.resolve(part.file())));
    }
    Map<String, ModelBundle> models = records.models();
    for (ModelBundle bundle : models.values()) {
      ModelFiles.write(
          bundle, directory.resolve(ExportFolder.MODELS).resolve(bundle.modelId() + ".avro"));
    }
    counts.put(ExportFolder.MODELS, models.size());
    return counts;
  }

  private static <V> int write(LogRecords records, RecordKind<V> part, Path file)
      throws IOException {
    Path unfinished = file.resolveSibling(file.getFileName() + ".part");
    JsonLines<V, ?> lines = new JsonLines<>(part.codec());
    int[] count = {0};
    try (BufferedWriter writer = Files.newBufferedWriter(unfinished, StandardCharsets.UTF_8)) {
      records.read(
          part,
          value -> {
            try {
              writer.write(lines.write(value));
              writer.write('\n');
            } catch (IOException e) {
              throw new UncheckedIOException(e);
            }
            count[0]++;
          });
    } catch (UncheckedIOException e) {
      Files.deleteIfExists(unfinished);
      throw e.getCause();
    } catch (IOException | RuntimeException e) {
      Files.deleteIfExists(unfinished);
      throw e;
    }
    Files.move(unfinished, file, StandardCopyOption.REPLACE_EXISTING);
    return count[0];
  }
}
