package io.shardtide.samples;

import io.shardtide.cost.CollectiveSample;
import io.shardtide.cost.ComputeSample;
import io.shardtide.cost.DeviceShard;
import io.shardtide.cost.SampleSet;
import io.shardtide.files.MalformedFileException;
import io.shardtide.files.TextFiles;
import io.shardtide.workload.Collective;
import io.shardtide.workload.Direction;
import io.shardtide.workload.Optimizer;
import io.shardtide.workload.TableSpec;
import io.shardtide.workload.TableSpecBuilder;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.Function;

/**
 * Reads a sample folder: {@code tables.jsonl}, {@code compute.jsonl} and {@code collectives.jsonl},
 * the latter two plain or gzip. Unknown fields are ignored; a null counts as absent. The format is
 * in docs/MODELS.md.
 */
public final class SampleFolderReader {
  static final String COMPUTE = "compute.jsonl";
  static final String COLLECTIVES = "collectives.jsonl";

  /** Single precision, of shards that do not say otherwise. */
  static final double BYTES_PER_ELEMENT = 4;

  private SampleFolderReader() {}

  /**
   * Reads all samples.
   *
   * @param folder the folder
   * @param tables the file of tables; empty for {@code tables.jsonl} in the folder or its parent.
   *     Collectives need none
   * @throws MalformedFileException if a file does not have this format, or there are no samples
   * @throws IOException if a file cannot be read
   */
  public static SampleSet read(Path folder, Optional<Path> tables) throws IOException {
    if (!Files.isDirectory(folder)) {
      throw new MalformedFileException(folder, 0, "not a folder");
    }
    Optional<Path> computeFile = TextFiles.find(folder, COMPUTE);
    Optional<Path> collectiveFile = TextFiles.find(folder, COLLECTIVES);
    Optional<Path> tableFile = tables.or(() -> inFolderOrParent(folder, SampleTables.NAME));
    if (computeFile.isPresent() && tableFile.isEmpty()) {
      throw new MalformedFileException(
          folder, 0, "no tables.jsonl in this folder or its parent; use --tables FILE");
    }
    SampleTables known =
        tableFile.isPresent() ? SampleTables.read(tableFile.get()) : SampleTables.NONE;
    Map<DeviceShard, DeviceShard> shards = new HashMap<>();
    List<ComputeSample> compute = readLines(computeFile, json -> computation(json, known, shards));
    List<CollectiveSample> collectives = readLines(collectiveFile, SampleFolderReader::collective);
    if (compute.isEmpty() && collectives.isEmpty()) {
      throw new MalformedFileException(
          folder, 0, "no samples; expected compute.jsonl or collectives.jsonl, plain or .gz");
    }
    return new SampleSet(
        known.tables().stream().map(TableSpec::name).toList(), compute, collectives);
  }

  /**
   * Reads a file of tables. Their columns are the least that a shard has.
   *
   * @throws MalformedFileException if it does not have this format
   * @throws IOException if it cannot be read
   */
  public static List<TableSpec> tables(Path file) throws IOException {
    return SampleTables.read(file).tables();
  }

  /** Returns a file of a folder, or else of its parent, if one of them has it. */
  static Optional<Path> inFolderOrParent(Path folder, String name) {
    Path absolute = folder.toAbsolutePath().normalize();
    return Optional.of(absolute.resolve(name))
        .filter(Files::isRegularFile)
        .or(
            () ->
                Optional.ofNullable(absolute.getParent())
                    .map(parent -> parent.resolve(name))
                    .filter(Files::isRegularFile));
  }

  private static <T> List<T> readLines(Optional<Path> file, Function<JsonFields, T> parser)
      throws IOException {
    List<T> samples = new ArrayList<>();
    if (file.isPresent()) {
      TextFiles.readLines(file.get(), line -> samples.add(parser.apply(JsonFields.parse(line))));
    }
    return samples;
  }

  /** Equal shards of all samples are one object. */
  private static ComputeSample computation(
      JsonFields json, SampleTables tables, Map<DeviceShard, DeviceShard> known) {
    List<DeviceShard> shards =
        json.objects("shards", of -> known.computeIfAbsent(shard(of, tables), same -> same));
    if (!json.has("ms")) {
      return ComputeSample.of(shards, json.positive("forward_ms"), json.positive("backward_ms"));
    }
    if (json.has("forward_ms") || json.has("backward_ms")) {
      throw new IllegalArgumentException(
          "a line must have either ms or forward_ms and backward_ms, got both");
    }
    return new ComputeSample(shards, json.positive("ms"));
  }

  private static DeviceShard shard(JsonFields json, SampleTables tables) {
    int position = json.wholeNumber("table", 0);
    if (position >= tables.tables().size()) {
      throw new IllegalArgumentException(
          "table must be a line of tables.jsonl, from 0 and below %s, got %s"
              .formatted(tables.tables().size(), position));
    }
    TableSpec table = tables.tables().get(position);
    DeviceShard shard =
        new DeviceShard(
            TableSpecBuilder.builder(table)
                .columns(
                    (int) json.wholeNumber("columns", TableSpec.COLUMN_UNIT, TableSpec.MAX_COLUMNS))
                .bytesPerElement(json.number("bytesPerElement", BYTES_PER_ELEMENT))
                .optimizer(
                    json.optionalText("optimizer")
                        .map(Optimizer::of)
                        .or(() -> Optional.of(Optimizer.DEFAULT)))
                .enforceHbm(json.flag("enforceHbm", false))
                .pooled(json.flag("pooled", true) && table.pooled())
                .build(),
            json.number("samples"),
            json.number("rowShare", 1),
            json.flag("replicated", false),
            json.optionalNumber("cacheShare"),
            tables.reuseBatchSizes().get(position));
    shard.check();
    return shard;
  }

  private static CollectiveSample collective(JsonFields json) {
    Collective collective = json.choice("collective", Collective.values(), Collective::label);
    int devices = json.wholeNumber("devices", 2);
    boolean isAllToAll = collective == Collective.ALL_TO_ALL;
    return new CollectiveSample(
        collective,
        json.has("direction")
            ? Optional.of(json.choice("direction", Direction.values(), Direction::label))
            : Optional.empty(),
        devices,
        (int) json.wholeNumber("devicesPerNode", 1, devices),
        isAllToAll ? ofDevices(json, "bytesPerPeer", devices) : new double[] {json.number("bytes")},
        isAllToAll ? ofDevices(json, "ms", devices) : new double[] {json.number("ms")});
  }

  private static double[] ofDevices(JsonFields json, String field, int devices) {
    double[] numbers = json.numbers(field);
    if (numbers.length != devices) {
      throw new IllegalArgumentException(
          "%s must have %s numbers, one for each device, got %s"
              .formatted(field, devices, numbers.length));
    }
    return numbers;
  }
}
