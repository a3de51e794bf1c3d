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
 * Reads a folder of cost samples:
 *
 * <ul>
 *   <li>{@code compute/data.txt[.gz]}: {@code index,index,... ms}. With a {@code
 *       table_configs.json} whose objects have {@code dim}, an index is a position in it. Without
 *       {@code dim} it is a position in the list of all tables at 128 columns, then all at 64, 32,
 *       16, 8 and 4.
 *   <li>{@code comm_D/data.txt[.gz]} for D devices: {@code columns starts forwards backwards}, four
 *       lists of D numbers with commas: columns, and milliseconds.
 *   <li>{@code samples.json}, if the samples were not measured with {@link #BATCH_SIZE}: {@code
 *       {"batch_size": N}}; what else it says is for people.
 * </ul>
 */
public final class Samples {
  /**
   * Samples in a batch over all devices where a folder does not say: what NeuroShard measures with.
   */
  public static final int BATCH_SIZE = 65_536;

  private static final int[] WIDTHS = {128, 64, 32, 16, 8, 4};
  static final String TABLES = "table_configs.json";
  static final String ABOUT = "samples.json";
  private static final Pattern COMMUNICATION = Pattern.compile("comm_(\\d{1,5})");

  private Samples() {}

  /**
   * Finds the tables that a folder's compute samples point to: in {@code compute/}, in the folder,
   * or beside it.
   *
   * @throws MalformedFileException if there are none
   */
  public static Path findTables(Path folder) throws MalformedFileException {
    Path absolute = folder.toAbsolutePath().normalize();
    for (Path place : new Path[] {absolute.resolve("compute"), absolute, absolute.getParent()}) {
      if (place != null && Files.isRegularFile(place.resolve(TABLES))) {
        return place.resolve(TABLES);
      }
    }
    throw new MalformedFileException(
        folder, 0, "has no " + TABLES + ", nor has its parent. Maybe name it with --tables");
  }

  /**
   * Reads all samples.
   *
   * @param folder folder with {@code compute/} and {@code comm_D/}
   * @param tableFile {@code table_configs.json}
   * @throws MalformedFileException if a file is not of this layout, or there are no samples
   * @throws IOException if a file cannot be read
   */
  public static SampleSet read(Path folder, Path tableFile) throws IOException {
    if (!Files.isDirectory(folder)) {
      throw new MalformedFileException(folder, 0, "is not a folder of samples");
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
          folder,
          0,
          "has no samples; legal are compute/data.txt and comm_D/data.txt, plain or .gz");
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
      throw new MalformedFileException(about, 0, "is not JSON: " + e.getOriginalMessage());
    }
    if (!size.isInt() || size.intValue() < 1) {
      throw new MalformedFileException(
          about, 0, "has the batch_size " + size + "; legal are whole numbers from 1");
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
        "A shard of %d columns; legal are %s".formatted(shard.width(), Arrays.toString(WIDTHS)));
  }

  private static List<ComputeSample> readCompute(Path file, List<TableSpec> tables)
      throws IOException {
    // Without dims every table reads as 128 columns wide, and an index goes on through the narrower
    // widths.
    boolean given = tables.stream().anyMatch(t -> t.columns() != TableConfigs.DEFAULT_COLUMNS);
    int indices = given ? tables.size() : tables.size() * WIDTHS.length;
    List<SampledShard> shards = new ArrayList<>();
    for (int i = 0; i < indices; i++) {
      int table = i % tables.size();
      shards.add(
          new SampledShard(table, given ? tables.get(table).columns() : WIDTHS[i / tables.size()]));
    }
    return readLines(
        file,
        2,
        parts -> {
          List<SampledShard> chosen = new ArrayList<>();
          for (double index : numbers(parts[0])) {
            if (index < 0 || index >= indices || index != Math.rint(index)) {
              throw new IllegalArgumentException(
                  "names table %s; legal are 0 to %d".formatted(index, indices - 1));
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
                "has %d devices; legal is %d, as the folder says"
                    .formatted(columns.length, devices));
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
                "has %d parts; legal are %d".formatted(split.length, parts));
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
        throw new IllegalArgumentException("has \"" + parts[i] + "\" where a number belongs", e);
      }
    }
    return numbers;
  }
}
