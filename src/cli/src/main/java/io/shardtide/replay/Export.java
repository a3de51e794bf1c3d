package io.shardtide.replay;

import io.shardtide.cost.ModelBundle;
import io.shardtide.models.ModelFiles;
import io.shardtide.wire.JsonLines;
import java.io.BufferedWriter;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.LinkedHashMap;
import java.util.Map;

/** Exports records to a folder, from which they can be replayed. */
public final class Export {
  private Export() {}

  /**
   * Writes all records that a replay needs. A file that cannot be completed is not created. Of
   * optional parts of the planner that the log does not have, there are no files.
   *
   * @param records the records
   * @param directory the folder; created if necessary
   * @return the number of records by kind, models included; without kinds of optional parts that
   *     have none
   */
  public static Map<String, Integer> write(LogRecords records, Path directory) throws IOException {
    Files.createDirectories(directory);
    Map<String, Integer> counts = new LinkedHashMap<>();
    for (RecordKind<?> kind : RecordKind.ALL) {
      if (kind.extension().isEmpty() || records.has(kind)) {
        counts.put(kind.name(), write(records, kind, directory.resolve(kind.file())));
      }
      if (kind.extension().isPresent() && counts.getOrDefault(kind.name(), 0) == 0) {
        // Not those of an earlier export either.
        Files.deleteIfExists(directory.resolve(kind.file()));
        counts.remove(kind.name());
      }
    }
    Map<String, ModelBundle> models = records.models();
    for (ModelBundle bundle : models.values()) {
      ModelFiles.write(
          bundle, directory.resolve(ExportFolder.MODELS).resolve(bundle.modelId() + ".avro"));
    }
    counts.put(ExportFolder.MODELS, models.size());
    return counts;
  }

  private static <V> int write(LogRecords records, RecordKind<V> kind, Path file)
      throws IOException {
    Path unfinished = file.resolveSibling(file.getFileName() + ".part");
    JsonLines<V, ?> lines = new JsonLines<>(kind.codec());
    int[] count = {0};
    try (BufferedWriter writer = Files.newBufferedWriter(unfinished, StandardCharsets.UTF_8)) {
      records.read(
          kind,
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
