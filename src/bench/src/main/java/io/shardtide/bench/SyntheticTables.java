package io.shardtide.bench;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.shardtide.workload.ReuseHistogram;
import io.shardtide.workload.TableSpec;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;

/** Random tables within the shipped model's training range, and tables of NVIDIA's models. */
public final class SyntheticTables {
  private static final String MODELS = "/bench/synthetic_models.json";

  private SyntheticTables() {}

  /**
   * Returns random tables with ten thousand to ten million rows and 1 to 100 lookups per sample,
   * both log-uniform.
   *
   * @param count number of tables
   * @param columns columns of each table
   * @param seed seed of all draws
   */
  public static List<TableSpec> of(int count, int columns, long seed) {
    Random random = new Random(seed);
    List<TableSpec> tables = new ArrayList<>();
    for (int t = 0; t < count; t++) {
      tables.add(
          new TableSpec(
              "table_%04d".formatted(t),
              (long) StrictMath.pow(10, 4 + 3 * random.nextDouble()),
              columns,
              StrictMath.pow(10, 2 * random.nextDouble()),
              reuse(0.3 + 0.5 * random.nextDouble()),
              4));
    }
    return tables;
  }

  /**
   * Returns the tables of one of NVIDIA's synthetic models.
   *
   * @param name name of the model, for example nvidia_synthetic_large
   */
  public static List<TableSpec> ofModel(String name) {
    JsonNode models;
    try (InputStream in = SyntheticTables.class.getResourceAsStream(MODELS)) {
      models = new ObjectMapper().readTree(in);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
    List<TableSpec> tables = new ArrayList<>();
    for (JsonNode group : models.get(name).get("groups")) {
      for (int i = 0; i < group.get("tables").intValue(); i++) {
        tables.add(
            new TableSpec(
                "table_%04d".formatted(tables.size()),
                group.get("rows").longValue(),
                group.get("columns").intValue(),
                group.get("lookups_per_sample").doubleValue(),
                ReuseHistogram.UNKNOWN,
                4));
      }
    }
    return tables;
  }

  /** Returns a table with 1 to 1.5 times the rows and 0.5 to 3 times the lookups. */
  public static TableSpec changed(TableSpec table, Random random) {
    return new TableSpec(
        table.name(),
        (long) (table.rows() * (1 + random.nextDouble() / 2)),
        table.columns(),
        table.poolingFactor() * (0.5 + 2.5 * random.nextDouble()),
        table.reuseHistogram(),
        table.bytesPerElement());
  }

  /** Returns shares that decrease by a factor from each interval to the next. */
  private static ReuseHistogram reuse(double factor) {
    Double[] shares = new Double[ReuseHistogram.SIZE];
    double sum = 0;
    for (int k = 0; k < shares.length; k++) {
      shares[k] = StrictMath.pow(factor, k);
      sum += shares[k];
    }
    double total = sum;
    return new ReuseHistogram(Arrays.stream(shares).map(share -> share / total).toList());
  }
}
