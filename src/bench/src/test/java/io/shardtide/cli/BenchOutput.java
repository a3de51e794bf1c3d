package io.shardtide.cli;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.PrintWriter;
import java.io.StringWriter;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/** Runs {@code bench}, and reads the tables that it prints. */
final class BenchOutput {
  private static final Map<String, Double> NANOS =
      Map.of("ns", 1.0, "us", 1e3, "ms", 1e6, "s", 1e9);

  private BenchOutput() {}

  static String bench(String... options) {
    StringWriter out = new StringWriter();
    StringWriter err = new StringWriter();
    String[] args = new String[options.length + 1];
    args[0] = "bench";
    System.arraycopy(options, 0, args, 1, options.length);
    int status = Shardtide.run(new PrintWriter(out), new PrintWriter(err), args);
    assertThat(status).as("%s%n%s", out, err).isZero();
    return out.toString();
  }

  /** Returns the cells of all data rows of all tables. */
  static List<List<String>> rows(String output) {
    List<List<String>> rows = new ArrayList<>();
    boolean inTable = false;
    boolean isHeader = false;
    for (String line : output.lines().toList()) {
      if (line.startsWith("|")) {
        if (!isHeader) {
          List<String> cells = List.of(line.split("\\|", -1));
          rows.add(cells.subList(1, cells.size() - 1).stream().map(String::strip).toList());
        }
        isHeader = false;
      } else {
        isHeader = line.startsWith("+") && !inTable;
        inTable = line.startsWith("+");
        continue;
      }
      inTable = true;
    }
    return rows;
  }

  /** Returns the row with a name, of which there must be one. */
  static List<String> row(List<List<String>> rows, String name) {
    List<List<String>> found = rows.stream().filter(row -> row.get(0).equals(name)).toList();
    assertThat(found).as("rows \"%s\" of %s", name, rows).hasSize(1);
    return found.get(0);
  }

  static double number(String cell) {
    return Double.parseDouble(cell.replaceAll("[,%]| %", ""));
  }

  static double nanos(String time) {
    String[] parts = time.split(" ", -1);
    return number(parts[0]) * NANOS.get(parts[1]);
  }
}
