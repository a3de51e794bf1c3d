package io.shardtide.bench;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.shardtide.workload.ReuseHistogram;
import io.shardtide.workload.TableSpec;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.util.ArrayList;
import java.util.List;

/** The 26 tables of MLPerf DLRM-DCNv2; the resource names the source. The demo plans them. */
public final class MlperfTables {
  /** Columns of each table, by that benchmark. */
  public static final int COLUMNS = 128;

  private static final String TABLES = "/demo/mlperf_dcnv2.json";
  private static final double BYTES_PER_ELEMENT = 4;

  private MlperfTables() {}

  /** Returns the tables, cat_00 to cat_25. */
  public static List<TableSpec> read() {
    try (InputStream in = MlperfTables.class.getResourceAsStream(TABLES)) {
      JsonNode root = new ObjectMapper().readTree(in);
      List<TableSpec> read = new ArrayList<>();
      for (int i = 0; i < root.get("rows").size(); i++) {
        read.add(
            new TableSpec(
                "cat_%02d".formatted(i),
                root.get("rows").get(i).longValue(),
                COLUMNS,
                root.get("multi_hot").get(i).doubleValue(),
                ReuseHistogram.UNKNOWN,
                BYTES_PER_ELEMENT));
      }
      return read;
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }
}
