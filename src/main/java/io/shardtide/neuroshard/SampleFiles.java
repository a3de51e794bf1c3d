package io.shardtide.neuroshard;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.shardtide.cost.CommunicationSample;
import io.shardtide.cost.ComputeSample;
import io.shardtide.cost.ComputeSample.SampledShard;
import io.shardtide.cost.SampleSet;
import io.shardtide.domain.TableSpec;
import java.io.BufferedReader;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/**
 * Reads a folder of cost samples in NeuroShard's format:
 *
 * <ul>
 *   <li>{@code compute/data.txt[.gz]}: {@code index,index,... ms}. If the tables in {@code
 *       table_configs.json} have {@code dim}, an index is a position in that file. Otherwise it is
 *       a position in the list of all tables at 128 columns, then all at 64, 32, 16, 8 and 4.
 *   <li>{@code comm_D/data.txt[.gz]} for D devices: {@code columns starts forwards backwards}, four
 *       comma-separated lists of D numbers: columns, then times in milliseconds.
 *   <li>{@code samples.json}, required for a batch size other than {@link #BATCH_SIZE}: {@code
 *       {"batch_size": N}}. Other entries are ignored.
 * </ul>
 */
public final class SampleFiles {
  /** The default batch size, over all devices: NeuroShard's. */
  public static final int BATCH_SIZE = 65_536;

  private static final int[] WIDTHS = {128, 64, 32, 16, 8, 4};
  static final String TABLES = "table_configs.json";
  static final String ABOUT = "samples.json";
  private static final Pattern COMMUNICATION = Pattern.compile("comm_(\\d{1,5})");

  private SampleFiles() {}

  /**
   * Finds the {@code table_configs.json} of a folder's compute samples: in {@code compute/}, in the
   * folder, or in its parent.
   *
   * @throws MalformedFileException if there is none
   */
  public static Path findTables(Path folder) throws MalformedFileException {
    Path absolute = folder.toAbsolutePath().normalize();
    for (Path parent : new Path[] {absolute.resolve("compute"), absolute, absolute.getParent()}) {
      if (parent != null && Files.isRegularFile(parent.resolve(TABLES))) {
        return parent.resolve(TABLES);
      }
    }
    throw new MalformedFileException(
        folder, 0, "no " + TABLES + " in this folder or its parent; use --tables FILE");
  }

  /**
   * Reads all samples.
   *
   * @param folder folder with {@code compute/} and {@code comm_D/}
   * @param tableFile {@code table_configs.json}
   * @throws MalformedFileException if a file does not have this format, or there are no samples
   * @throws IOException if a file cannot be read
   */
  public static SampleSet read(Path folder, Path tableFile) throws IOException {
    if (!Files.isDirectory(folder)) {
      throw new MalformedFileException(folder, 0, "not a folder");
    }
    List<TableSpec> tables = TableConfigs.read(tableFile);
    Path computeFile = TextFiles.dataFile(folder.resolve("compute"));
    List<ComputeSample> compute =
        computeFile == null ? List.of() : readCompute(computeFile, tables);
    SortedMap<Integer, List<CommunicationSample>> communication = new TreeMap<>();
    try (Stream<Path> children = Files.list(folder)) {
      for (Path child : children.sorted().toList()) {
        Matcher matcher = COMMUNICATION.matcher(child.getFileName().toString());
        Path file = matcher.matches() ? TextFiles.dataFile(child) : null;
        if (file != null) {
          int devices = Integer.parseInt(matcher.group(1));
          communication.put(devices, readCommunication(file, devices));
        }
      }
    }
    if (compute.isEmpty() && communication.isEmpty()) {
      throw new MalformedFileException(
          folder, 0, "no samples; expected compute/data.txt and comm_D/data.txt, plain or .gz");
    }
    return new SampleSet(tables, batchSize(folder.resolve(ABOUT)), compute, communication);
  }

  private static int batchSize(Path about) throws IOException {
    if (!Files.exists(about)) {
      return BATCH_SIZE;
    }
    JsonNode size;
    try {
      size = new ObjectMapper().readTree(about.toFile()).path("batch_size");
    } catch (JsonProcessingException e) {
      throw new MalformedFileException(about, 0, "invalid JSON: " + e.getOriginalMessage());
    }
    if (!size.isInt() || size.intValue() < 1) {
      throw new MalformedFileException(
          about, 0, "batch_size must be an integer of at least 1, got " + size);
    }
    return size.intValue();
  }

  /** Returns the index of a shard in the list of all tables at each width. */
  static int index(SampledShard shard, int tables) {
    for (int w = 0; w < WIDTHS.length; w++) {
      if (WIDTHS[w] == shard.width()) {
        return w * tables + shard.table();
      }
    }
    throw new IllegalArgumentException(
        "columns of a shard must be one of %s, got %d"
            .formatted(Arrays.toString(WIDTHS), shard.width()));
  }

  private static List<ComputeSample> readCompute(Path file, List<TableSpec> tables)
      throws IOException {
    // Without dims, all tables have 128 columns and indices continue with the narrower widths.
    boolean hasDims = tables.stream().anyMatch(t -> t.columns() != TableConfigs.DEFAULT_COLUMNS);
    int indices = hasDims ? tables.size() : tables.size() * WIDTHS.length;
    List<SampledShard> shards = new ArrayList<>();
    for (int i = 0; i < indices; i++) {
      int table = i % tables.size();
      shards.add(
          new SampledShard(
              table, hasDims ? tables.get(table).columns() : WIDTHS[i / tables.size()]));
    }
    return readLines(
        file,
        2,
        parts -> {
          List<SampledShard> chosen = new ArrayList<>();
          for (double index : numbers(parts[0])) {
            if (index < 0 || index >= indices || index != Math.rint(index)) {
              throw new IllegalArgumentException(
                  "table index must be an integer between 0 and %d, got %s"
                      .formatted(indices - 1, index));
            }
            chosen.add(shards.get((int) index));
          }
          return new ComputeSample(chosen, numbers(parts[1])[0]);
        });
  }

  private static List<CommunicationSample> readCommunication(Path file, int devices)
      throws IOException {
    return readLines(
        file,
        4,
        parts -> {
          double[] columns = numbers(parts[0]);
          if (columns.length != devices) {
            throw new IllegalArgumentException(
                "number of devices must be %d as in the folder's name, got %d"
                    .formatted(devices, columns.length));
          }
          int[] whole = new int[devices];
          for (int d = 0; d < devices; d++) {
            whole[d] = (int) columns[d];
          }
          return new CommunicationSample(
              whole, numbers(parts[1]), numbers(parts[2]), numbers(parts[3]));
        });
  }

  private interface LineParser<T> {
    T parse(String[] parts);
  }

  private static <T> List<T> readLines(Path file, int parts, LineParser<T> parser)
      throws IOException {
    List<T> samples = new ArrayList<>();
    try (BufferedReader reader = TextFiles.open(file)) {
      int number = 0;
      for (String line = reader.readLine(); line != null; line = reader.readLine()) {
        number++;
        String[] split = line.strip().split("\\s+", -1);
        if (line.isBlank()) {
          continue;
        }
        try {
          if (split.length != parts) {
            throw new IllegalArgumentException(
                "a line must have %d parts, got %d".formatted(parts, split.length));
          }
          samples.add(parser.parse(split));
        } catch (IllegalArgumentException e) {
          throw new MalformedFileException(file, number, e.getMessage());
        }
      }
    }
    return samples;
  }

  private static double[] numbers(String text) {
    String[] parts = text.split(",", -1);
    double[] numbers = new double[parts.length];
    for (int i = 0; i < parts.length; i++) {
      try {
        numbers[i] = Double.parseDouble(parts[i]);
      } catch (NumberFormatException e) {
        throw new IllegalArgumentException("not a number: \"" + parts[i] + "\"", e);
      }
    }
    return numbers;
  }
}
