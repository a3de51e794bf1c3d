package io.shardtide.neuroshard;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.shardtide.cost.CollectiveSample;
import io.shardtide.cost.ComputeSample;
import io.shardtide.cost.SampleSet;
import io.shardtide.cost.SampledShard;
import io.shardtide.domain.Collective;
import io.shardtide.domain.Direction;
import io.shardtide.domain.TableSpec;
import io.shardtide.files.MalformedFileException;
import io.shardtide.files.TextFiles;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.function.Consumer;
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
  private static final String TABLES = "table_configs.json";
  private static final String ABOUT = "samples.json";
  private static final String DATA = "data.txt";
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
   * Returns whether a folder has samples in this format.
   *
   * @throws IOException if it cannot be listed, or has a file both plain and as gzip
   */
  static boolean isPresent(Path folder) throws IOException {
    return TextFiles.find(folder.resolve("compute"), DATA).isPresent()
        || !communicationFiles(folder).isEmpty();
  }

  /**
   * Reads all samples. The forward and the backward all-to-all of a step are two collectives of the
   * devices of one node; computations are not told apart.
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
    int batchSize = batchSize(folder.resolve(ABOUT));
    Optional<Path> computeFile = TextFiles.find(folder.resolve("compute"), DATA);
    List<ComputeSample> compute =
        computeFile.isPresent() ? readCompute(computeFile.get(), tables, batchSize) : List.of();
    List<CollectiveSample> collectives = new ArrayList<>();
    for (Map.Entry<Integer, Path> file : communicationFiles(folder).entrySet()) {
      collectives.addAll(readCommunication(file.getValue(), file.getKey(), batchSize));
    }
    if (compute.isEmpty() && collectives.isEmpty()) {
      throw new MalformedFileException(
          folder, 0, "no samples; expected compute/data.txt and comm_D/data.txt, plain or .gz");
    }
    return new SampleSet(tables, batchSize, compute, collectives);
  }

  private static SortedMap<Integer, Path> communicationFiles(Path folder) throws IOException {
    SortedMap<Integer, Path> files = new TreeMap<>();
    try (Stream<Path> children = Files.list(folder)) {
      for (Path child : children.sorted().toList()) {
        Matcher matcher = COMMUNICATION.matcher(child.getFileName().toString());
        Optional<Path> file = matcher.matches() ? TextFiles.find(child, DATA) : Optional.empty();
        if (file.isPresent()) {
          files.put(Integer.parseInt(matcher.group(1)), file.get());
        }
      }
    }
    return files;
  }

  private static int batchSize(Path about) throws IOException {
    if (!Files.exists(about)) {
      return BATCH_SIZE;
    }
    JsonNode size;
    try {
      size = new ObjectMapper().readTree(TextFiles.read(about)).path("batch_size");
    } catch (JsonProcessingException e) {
      throw new MalformedFileException(about, 0, "invalid JSON: " + e.getOriginalMessage());
    }
    if (!size.isInt() || size.intValue() < 1) {
      throw new MalformedFileException(
          about, 0, "batch_size must be an integer of at least 1, got " + size);
    }
    return size.intValue();
  }

  private static List<ComputeSample> readCompute(Path file, List<TableSpec> tables, int batchSize)
      throws IOException {
    // Without dims, all tables have 128 columns and indices continue with the narrower widths.
    boolean hasDims = tables.stream().anyMatch(t -> t.columns() != TableConfigs.DEFAULT_COLUMNS);
    int indices = hasDims ? tables.size() : tables.size() * WIDTHS.length;
    List<SampledShard> shards = new ArrayList<>();
    for (int i = 0; i < indices; i++) {
      int table = i % tables.size();
      shards.add(
          SampledShard.ofColumns(
              table, hasDims ? tables.get(table).columns() : WIDTHS[i / tables.size()], batchSize));
    }
    List<ComputeSample> samples = new ArrayList<>();
    readLines(
        file,
        2,
        parts -> {
          List<SampledShard> chosen = new ArrayList<>();
          for (double index : numbers(parts[0])) {
            if (index < 0 || index >= indices || index != Math.rint(index)) {
              throw new IllegalArgumentException(
                  "table index must be an integer between 0 and %s, got %s"
                      .formatted(indices - 1, index));
            }
            chosen.add(shards.get((int) index));
          }
          samples.add(new ComputeSample(chosen, numbers(parts[1])[0]));
        });
    return samples;
  }

  private static List<CollectiveSample> readCommunication(Path file, int devices, int batchSize)
      throws IOException {
    List<CollectiveSample> samples = new ArrayList<>();
    readLines(
        file,
        4,
        parts -> {
          double[] columns = numbers(parts[0]);
          if (columns.length != devices) {
            throw new IllegalArgumentException(
                "number of devices must be %s as in the folder's name, got %s"
                    .formatted(devices, columns.length));
          }
          double[] starts = numbers(parts[1]);
          double[] forward = numbers(parts[2]);
          double[] backward = numbers(parts[3]);
          check(columns, starts, forward, backward);
          double[] bytes =
              Arrays.stream(columns).map(own -> own * batchSize / devices * Float.BYTES).toArray();
          samples.add(allToAll(Direction.FORWARD, bytes, withoutIdleTime(starts, forward)));
          samples.add(allToAll(Direction.BACKWARD, bytes, backward));
        });
    return samples;
  }

  private static void check(
      double[] columns, double[] starts, double[] forward, double[] backward) {
    int devices = columns.length;
    if (devices < 2
        || starts.length != devices
        || forward.length != devices
        || backward.length != devices) {
      throw new IllegalArgumentException(
          "a communication sample must have four times as many numbers as devices, at least 2, got %s, %s, %s and %s"
              .formatted(devices, starts.length, forward.length, backward.length));
    }
    for (int d = 0; d < devices; d++) {
      if (!(columns[d] >= 0)
          || !(starts[d] >= 0)
          || !(forward[d] > 0)
          || !(backward[d] > 0)
          || !Double.isFinite(columns[d] + starts[d] + forward[d] + backward[d])) {
        throw new IllegalArgumentException(
            "columns and start of a communication sample must be at least 0 and costs above 0, got %s columns, start %s ms, forward %s ms, backward %s ms"
                .formatted(columns[d], starts[d], forward[d], backward[d]));
      }
    }
  }

  private static CollectiveSample allToAll(Direction direction, double[] bytes, double[] ms) {
    return new CollectiveSample(
        Collective.ALL_TO_ALL, Optional.of(direction), bytes.length, bytes.length, bytes, ms);
  }

  /**
   * Returns costs minus the time until the last device begins; at least a thousandth of the cost,
   * since the clocks of devices may differ.
   */
  private static double[] withoutIdleTime(double[] starts, double[] costs) {
    double last = Arrays.stream(starts).max().orElseThrow();
    double[] transfers = new double[costs.length];
    for (int d = 0; d < costs.length; d++) {
      transfers[d] = Math.max(costs[d] / 1000, costs[d] - (last - starts[d]));
    }
    return transfers;
  }

  /** Gives the parts of each line that is not blank. */
  private static void readLines(Path file, int parts, Consumer<String[]> parser)
      throws IOException {
    TextFiles.readLines(
        file,
        line -> {
          if (!line.isBlank()) {
            String[] split = line.strip().split("\\s+", -1);
            if (split.length != parts) {
              throw new IllegalArgumentException(
                  "a line must have %s parts, got %s".formatted(parts, split.length));
            }
            parser.accept(split);
          }
        });
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
