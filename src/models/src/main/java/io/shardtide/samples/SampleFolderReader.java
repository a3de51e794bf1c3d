package io.shardtide.samples;

import com.fasterxml.jackson.databind.node.ObjectNode;
import io.shardtide.cost.CollectiveSample;
import io.shardtide.cost.ComputeSample;
import io.shardtide.cost.DeviceShard;
import io.shardtide.cost.SampleSet;
import io.shardtide.files.MalformedFileException;
import io.shardtide.files.TextFiles;
import io.shardtide.workload.Collective;
import io.shardtide.workload.Direction;
import io.shardtide.workload.Limits;
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
import java.util.OptionalDouble;
import java.util.function.Function;
import java.util.stream.Stream;

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
    return Stream.of(absolute, absolute.resolve("..").normalize())
        .map(either -> either.resolve(name))
        .filter(Files::isRegularFile)
        .findFirst();
  }

  private static <T> List<T> readLines(Optional<Path> file, Function<ObjectNode, T> parser)
      throws IOException {
    List<T> samples = new ArrayList<>();
    if (file.isPresent()) {
      TextFiles.readLines(file.get(), line -> samples.add(parser.apply(JsonRecords.parse(line))));
    }
    return samples;
  }

  /** Equal shards of all samples are one object. */
  private static ComputeSample computation(
      ObjectNode json, SampleTables tables, Map<DeviceShard, DeviceShard> known) {
    List<ShardFields> fields = JsonRecords.read(Shards.class, json).shards;
    List<DeviceShard> shards = new ArrayList<>(fields.size());
    for (ShardFields of : fields) {
      try {
        shards.add(known.computeIfAbsent(shard(of, tables), same -> same));
      } catch (IllegalArgumentException e) {
        throw new IllegalArgumentException(
            "shards[%s]: %s".formatted(shards.size(), e.getMessage()), e);
      }
    }
    if (!json.hasNonNull("ms")) {
      Halves ms = JsonRecords.read(Halves.class, json);
      Limits.ARGUMENTS
          .above("forward_ms", ms.forward_ms, 0)
          .above("backward_ms", ms.backward_ms, 0);
      return ComputeSample.of(shards, ms.forward_ms, ms.backward_ms);
    }
    if (json.hasNonNull("forward_ms") || json.hasNonNull("backward_ms")) {
      throw new IllegalArgumentException(
          "a line must have either ms or forward_ms and backward_ms, got both");
    }
    return new ComputeSample(shards, JsonRecords.read(Whole.class, json).ms);
  }

  private record Shards(List<ShardFields> shards) {}

  private record Whole(double ms) {}

  @SuppressWarnings("MemberName") // As in the file.
  private record Halves(double forward_ms, double backward_ms) {}

  private record ShardFields(
      int table,
      int columns,
      Optional<Double> bytesPerElement,
      Optional<Optimizer> optimizer,
      Optional<Boolean> enforceHbm,
      Optional<Boolean> pooled,
      double samples,
      Optional<Double> rowShare,
      Optional<Boolean> replicated,
      Optional<Double> cacheShare) {}

  private static DeviceShard shard(ShardFields of, SampleTables tables) {
    if (of.table < 0 || of.table >= tables.tables().size()) {
      throw new IllegalArgumentException(
          "table must be a line of tables.jsonl, from 0 and below %s, got %s"
              .formatted(tables.tables().size(), of.table));
    }
    TableSpec table = tables.tables().get(of.table);
    DeviceShard shard =
        new DeviceShard(
            TableSpecBuilder.builder(table)
                .columns(of.columns)
                .bytesPerElement(of.bytesPerElement.orElse(BYTES_PER_ELEMENT))
                .optimizer(of.optimizer.or(() -> Optional.of(Optimizer.DEFAULT)))
                .enforceHbm(of.enforceHbm.orElse(false))
                .pooled(of.pooled.orElse(true) && table.pooled())
                .build(),
            of.samples,
            of.rowShare.orElse(1.0),
            of.replicated.orElse(false),
            of.cacheShare.map(OptionalDouble::of).orElseGet(OptionalDouble::empty),
            tables.reuseBatchSizes().get(of.table));
    shard.check();
    return shard;
  }

  private static CollectiveSample collective(ObjectNode json) {
    Group group = JsonRecords.read(Group.class, json);
    double[] bytes;
    double[] ms;
    if (group.collective == Collective.ALL_TO_ALL) {
      OfDevices numbers = JsonRecords.read(OfDevices.class, json);
      bytes = numbers.bytesPerPeer.stream().mapToDouble(b -> b).toArray();
      ms = numbers.ms.stream().mapToDouble(t -> t).toArray();
    } else {
      OfBuffer numbers = JsonRecords.read(OfBuffer.class, json);
      bytes = new double[] {numbers.bytes};
      ms = new double[] {numbers.ms};
    }
    return new CollectiveSample(
        group.collective, group.direction, group.devices, group.devicesPerNode, bytes, ms);
  }

  private record Group(
      Collective collective, Optional<Direction> direction, int devices, int devicesPerNode) {}

  private record OfDevices(List<Double> bytesPerPeer, List<Double> ms) {}

  private record OfBuffer(double bytes, double ms) {}
}
