package io.shardtide.neuroshard;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.shardtide.domain.RejectedException;
import io.shardtide.domain.ReuseHistogram;
import io.shardtide.domain.TableSpec;
import io.shardtide.files.MalformedFileException;
import io.shardtide.files.TextFiles;
import java.io.IOException;
import java.io.Reader;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/**
 * Reads {@code table_configs.json}: a list of objects with {@code row}, {@code pooling_factor},
 * {@code bin_0} to {@code bin_16} and optionally {@code dim}, the number of columns. Tables are
 * named by their position.
 */
public final class TableConfigs {
  /** The number of columns of tables without {@code dim}: the maximum of NeuroShard's samples. */
  public static final int DEFAULT_COLUMNS = 128;

  /** Single-precision weights, as in NeuroShard. */
  private static final double BYTES_PER_ELEMENT = 4;

  private TableConfigs() {}

  /**
   * Reads all tables.
   *
   * @throws MalformedFileException if the file does not have this format
   * @throws IOException if it cannot be read
   */
  public static List<TableSpec> read(Path file) throws IOException {
    JsonNode root;
    try (Reader reader = TextFiles.open(file)) {
      root = new ObjectMapper().readTree(reader);
    } catch (JsonProcessingException e) {
      throw new MalformedFileException(file, 0, "invalid JSON: " + e.getOriginalMessage());
    }
    if (root == null || !root.isArray() || root.isEmpty()) {
      throw new MalformedFileException(
          file, 0, "expected a list of tables: [{\"row\": .., \"pooling_factor\": .., ..}, ..]");
    }
    List<TableSpec> tables = new ArrayList<>();
    for (int i = 0; i < root.size(); i++) {
      try {
        tables.add(table(Integer.toString(i), root.get(i)));
      } catch (RejectedException e) {
        throw new MalformedFileException(file, 0, "invalid table: " + e.getMessage());
      } catch (IllegalArgumentException e) {
        throw new MalformedFileException(file, 0, "table " + i + ": " + e.getMessage());
      }
    }
    return tables;
  }

  private static TableSpec table(String name, JsonNode node) {
    List<Double> shares = new ArrayList<>();
    if (node.has("bin_0")) {
      for (int k = 0; k < ReuseHistogram.SIZE; k++) {
        shares.add(number(node, "bin_" + k));
      }
    }
    int columns = node.has("dim") ? (int) number(node, "dim") : DEFAULT_COLUMNS;
    return new TableSpec(
        name,
        (long) number(node, "row"),
        columns,
        number(node, "pooling_factor"),
        new ReuseHistogram(shares),
        BYTES_PER_ELEMENT);
  }

  private static double number(JsonNode node, String field) {
    JsonNode value = node.get(field);
    if (value == null || !value.isNumber()) {
      throw new IllegalArgumentException(
          "%s must be a number, got %s".formatted(field, value == null ? "nothing" : value));
    }
    return value.doubleValue();
  }
}
