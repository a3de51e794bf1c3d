package io.shardtide.neuroshard;

import io.shardtide.domain.RejectedException;
import io.shardtide.domain.TableSpec;
import io.shardtide.files.MalformedFileException;
import io.shardtide.files.TextFiles;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/**
 * A sharding task of NeuroShard: tables to shard together.
 *
 * @param tables tables in the task's order, each named by its position
 */
public record Task(List<TableSpec> tables) {
  /** Copies mutable components. */
  public Task {
    tables = List.copyOf(tables);
  }

  /**
   * Reads a file with one task per line: {@code id,id,... dim,dim,...}. An id is a position in the
   * list of tables.
   *
   * @throws MalformedFileException if a line does not have this format
   * @throws IOException if the file cannot be read
   */
  public static List<Task> read(Path file, List<TableSpec> tables) throws IOException {
    List<Task> tasks = new ArrayList<>();
    TextFiles.readLines(
        file,
        line -> {
          if (!line.isBlank()) {
            tasks.add(parse(line.strip(), tables));
          }
        });
    if (tasks.isEmpty()) {
      throw new MalformedFileException(
          file, 0, "no tasks; expected lines of the form \"id,id,... dim,dim,...\"");
    }
    return tasks;
  }

  private static Task parse(String line, List<TableSpec> tables) {
    String[] parts = line.split("\\s+", -1);
    String[] ids = parts[0].split(",", -1);
    String[] dims = parts.length == 2 ? parts[1].split(",", -1) : new String[0];
    if (ids.length != dims.length) {
      throw new IllegalArgumentException(
          "expected \"id,id,... dim,dim,...\" with the same number of ids and dims, got %s and %s"
              .formatted(ids.length, dims.length));
    }
    List<TableSpec> chosen = new ArrayList<>();
    for (int i = 0; i < ids.length; i++) {
      int id = number(ids[i]);
      if (id < 0 || id >= tables.size()) {
        throw new IllegalArgumentException(
            "table id must be between 0 and %s, got %s".formatted(tables.size() - 1, id));
      }
      TableSpec table = tables.get(id);
      try {
        chosen.add(
            new TableSpec(
                Integer.toString(i),
                table.rows(),
                number(dims[i]),
                table.poolingFactor(),
                table.reuseHistogram(),
                table.bytesPerElement()));
      } catch (RejectedException e) {
        throw new IllegalArgumentException(e.getMessage(), e);
      }
    }
    return new Task(chosen);
  }

  private static int number(String text) {
    try {
      return Integer.parseInt(text.strip());
    } catch (NumberFormatException e) {
      throw new IllegalArgumentException("not an integer: \"" + text + "\"", e);
    }
  }
}
