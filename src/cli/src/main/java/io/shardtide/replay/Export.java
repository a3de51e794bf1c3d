package io.shardtide.replay;

import static io.shardtide.wire.TopicType.POOL_CHANGES;
import static io.shardtide.wire.TopicType.WORKLOAD_CHANGES;

import io.shardtide.cost.ModelBundle;
import io.shardtide.files.OutputFile;
import io.shardtide.models.ModelFiles;
import io.shardtide.wire.JsonLines;
import io.shardtide.wire.TopicType;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.io.Writer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Set;
import java.util.stream.Stream;

/** Exports records to a folder, from which they can be replayed. */
public final class Export {
  private static final String MODEL = "[0-9a-f]+\\.avro";

  private Export() {}

  /**
   * Writes all records that a replay needs. The folder's files are replaced when all have been
   * read: an earlier export stays if that fails, or if there is no event, of a workload or a pool,
   * to replay. Afterwards it has no file of an earlier export that is not of this one: neither
   * models nor optional parts of the planner that the log does not have.
   *
   * @param records the records
   * @param directory the folder; created if necessary
   * @return the number of records by kind, models included; without kinds of optional parts that
   *     have none; empty if nothing was written
   */
  public static Map<String, Integer> write(LogRecords records, Path directory) throws IOException {
    Map<TopicType<?>, OutputFile> files = new LinkedHashMap<>();
    try {
      Map<String, Integer> counts = new LinkedHashMap<>();
      for (TopicType<?> kind : LogRecords.NAMES.keySet()) {
        OutputFile file = OutputFile.create(directory.resolve(LogRecords.file(kind)));
        files.put(kind, file);
        int count = write(records, kind, file.text());
        if (count > 0 || kind.extension().isEmpty()) {
          counts.put(LogRecords.NAMES.get(kind), count);
        }
      }
      Map<String, ModelBundle> models = records.models();
      counts.put(ExportFolder.MODELS, models.size());
      if (counts.get(LogRecords.NAMES.get(WORKLOAD_CHANGES)) == 0
          && !counts.containsKey(LogRecords.NAMES.get(POOL_CHANGES))) {
        return Map.of();
      }
      // A full disk says so before any file is replaced.
      for (OutputFile file : files.values()) {
        file.text().flush();
      }
      Path folder = directory.resolve(ExportFolder.MODELS);
      for (ModelBundle bundle : models.values()) {
        ModelFiles.write(bundle, folder.resolve(bundle.modelId() + ".avro"));
      }
      for (TopicType<?> kind : LogRecords.NAMES.keySet()) {
        if (counts.containsKey(LogRecords.NAMES.get(kind))) {
          files.get(kind).complete();
        } else {
          Files.deleteIfExists(directory.resolve(LogRecords.file(kind)));
        }
      }
      deleteOthers(models.keySet(), folder);
      return counts;
    } finally {
      for (OutputFile file : files.values()) {
        file.close();
      }
    }
  }

  private static <V> int write(LogRecords records, TopicType<V> kind, Writer writer)
      throws IOException {
    JsonLines<V, ?> lines = new JsonLines<>(kind.codec());
    int[] count = {0};
    try {
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
      throw e.getCause();
    }
    return count[0];
  }

  private static void deleteOthers(Set<String> modelIds, Path folder) throws IOException {
    if (Files.isDirectory(folder)) {
      try (Stream<Path> files = Files.list(folder)) {
        for (Path file : files.toList()) {
          String name = file.getFileName().toString();
          if (name.matches(MODEL) && !modelIds.contains(name.replace(".avro", ""))) {
            Files.delete(file);
          }
        }
      }
    }
  }
}
