package io.shardtide.samples;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowable;

import io.shardtide.cost.CollectiveSample;
import io.shardtide.cost.ComputeSample;
import io.shardtide.cost.DeviceShard;
import io.shardtide.cost.SampleSet;
import io.shardtide.files.MalformedFileException;
import io.shardtide.testing.Fixtures;
import io.shardtide.workload.AccessCdf;
import io.shardtide.workload.Collective;
import io.shardtide.workload.Direction;
import io.shardtide.workload.Optimizer;
import io.shardtide.workload.ReuseHistogram;
import io.shardtide.workload.TableSpec;
import io.shardtide.workload.TableSpecBuilder;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.Random;
import java.util.stream.Stream;
import java.util.zip.GZIPInputStream;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.lifecycle.AfterTry;
import net.jqwik.api.lifecycle.BeforeTry;

/** What the writer writes, and what becomes of it when bytes change. */
class SampleFolderRoundTripTest {
  private static final List<String> FILES =
      List.of("tables.jsonl", "compute.jsonl.gz", "collectives.jsonl.gz");

  private Path folder;

  @BeforeTry
  void create() throws IOException {
    folder = Files.createTempDirectory("samples");
  }

  @AfterTry
  void delete() throws IOException {
    try (Stream<Path> files = Files.list(folder)) {
      for (Path file : files.toList()) {
        Files.delete(file);
      }
    }
    Files.delete(folder);
  }

  @Property(tries = 100)
  void what_is_written_reads_back_equal(@ForAll long seed) throws IOException {
    Random random = new Random(seed);
    List<TableSpec> tables = tables(random);
    SampleSet written = write(tables, random);
    assertThat(FILES).allSatisfy(name -> assertThat(folder.resolve(name)).isRegularFile());
    SampleSet read = SampleFolderReader.read(folder, Optional.empty());
    assertThat(read.tables()).isEqualTo(written.tables());
    assertThat(SampleFolderReader.tables(folder.resolve(FILES.get(0)))).isEqualTo(tables);
    assertThat(read.compute()).isEqualTo(written.compute());
    assertThat(read.collectives().stream().map(SampleFolderRoundTripTest::values))
        .isEqualTo(written.collectives().stream().map(SampleFolderRoundTripTest::values).toList());
  }

  private static List<Object> values(CollectiveSample sample) {
    return List.of(
        sample.collective(),
        sample.direction(),
        sample.devices(),
        sample.devicesPerNode(),
        Arrays.stream(sample.bytes()).boxed().toList(),
        Arrays.stream(sample.ms()).boxed().toList());
  }

  /** Bytes change in text, or in what gzip made of it. */
  @Property(tries = 300)
  void changed_bytes_are_read_or_named_as_malformed(@ForAll long seed) throws IOException {
    Random random = new Random(seed);
    write(tables(random), random);
    Path file = folder.resolve(FILES.get(random.nextInt(FILES.size())));
    byte[] bytes = Files.readAllBytes(file);
    if (file.toString().endsWith(".gz") && random.nextInt(4) > 0) {
      try (GZIPInputStream in = new GZIPInputStream(new ByteArrayInputStream(bytes))) {
        bytes = in.readAllBytes();
      }
    }
    for (int changes = 1 + random.nextInt(4); changes > 0 && bytes.length > 0; changes--) {
      int at = random.nextInt(bytes.length);
      bytes[at] =
          switch (random.nextInt(4)) {
            case 0 -> (byte) random.nextInt();
            case 1 -> (byte) "0123456789-.eE{}[]\",:nulltrue\n ".charAt(random.nextInt(31));
            case 2 -> bytes[random.nextInt(bytes.length)];
            default -> (byte) (bytes[at] ^ 1 << random.nextInt(8));
          };
    }
    if (random.nextInt(4) == 0) {
      bytes = Arrays.copyOf(bytes, random.nextInt(bytes.length + 1));
    }
    Files.write(file, bytes);
    Throwable error = catchThrowable(() -> SampleFolderReader.read(folder, Optional.empty()));
    if (error != null) {
      assertThat(error)
          .isExactlyInstanceOf(MalformedFileException.class)
          .hasMessageStartingWith(folder.toString())
          .hasMessageContaining(": ");
    }
  }

  private static List<TableSpec> tables(Random random) {
    List<TableSpec> tables = new ArrayList<>();
    for (int t = 1 + random.nextInt(3); t > 0; t--) {
      tables.add(table("t\"able 表" + t, random));
    }
    return tables;
  }

  private SampleSet write(List<TableSpec> tables, Random random) throws IOException {
    int batchSize = random.nextBoolean() ? 65_536 : 1 + random.nextInt(1 << 20);
    SampleSet samples = samples(tables, batchSize, random);
    SampleFolderWriter.write(samples, tables, batchSize, folder);
    return samples;
  }

  private static SampleSet samples(List<TableSpec> tables, int batchSize, Random random) {
    List<ComputeSample> compute = new ArrayList<>();
    for (int n = random.nextInt(4); n > 0; n--) {
      List<DeviceShard> shards = new ArrayList<>();
      for (int s = 1 + random.nextInt(3); s > 0; s--) {
        shards.add(shard(tables.get(random.nextInt(tables.size())), batchSize, random));
      }
      double forward = positive(random);
      compute.add(
          random.nextBoolean()
              ? new ComputeSample(shards, forward)
              : ComputeSample.of(shards, forward, forward * (0.01 + 9 * random.nextDouble())));
    }
    List<CollectiveSample> collectives = new ArrayList<>();
    for (int n = random.nextInt(4) + (compute.isEmpty() ? 1 : 0); n > 0; n--) {
      collectives.add(collective(random));
    }
    return new SampleSet(tables.stream().map(TableSpec::name).toList(), compute, collectives);
  }

  private static TableSpec table(String name, Random random) {
    long rows = 1 + (random.nextLong() & (TableSpec.MAX_ROWS - 1)) % (1L << random.nextInt(37));
    List<Double> shares = new ArrayList<>();
    for (int k = 1; k < AccessCdf.size(rows); k++) {
      shares.add(1 - random.nextDouble());
    }
    shares.add(1.0);
    Collections.sort(shares);
    List<Double> reuse = new ArrayList<>(Collections.nCopies(ReuseHistogram.SIZE, 0.0));
    double first = random.nextDouble();
    reuse.set(0, first);
    reuse.set(random.nextInt(ReuseHistogram.SIZE - 1) + 1, 1 - first);
    TableSpec table =
        TableSpecBuilder.builder(
                new TableSpec(
                    name,
                    rows,
                    TableSpec.COLUMN_UNIT,
                    random.nextInt(3) == 0 ? random.nextInt(100) : 1e6 * random.nextDouble(),
                    random.nextBoolean() ? ReuseHistogram.UNKNOWN : new ReuseHistogram(reuse),
                    4))
            .accessCdf(random.nextBoolean() ? AccessCdf.UNKNOWN : new AccessCdf(shares))
            .build();
    return random.nextInt(3) > 0
        ? table
        : TableSpecBuilder.builder(Fixtures.withFeatures(table, random))
            .idWeights(Optional.empty())
            .build();
  }

  private static DeviceShard shard(TableSpec table, int batchSize, Random random) {
    return new DeviceShard(
        TableSpecBuilder.builder(table)
            .columns(TableSpec.COLUMN_UNIT * (1 + random.nextInt(1_024)))
            .bytesPerElement(random.nextBoolean() ? 4 : 8 * (1 - random.nextDouble()))
            .optimizer(Optional.of(one(List.of(Optimizer.values()), random)))
            .enforceHbm(random.nextBoolean())
            .pooled(random.nextBoolean())
            .build(),
        positive(random),
        random.nextBoolean() ? 1 : 1 - random.nextDouble(),
        random.nextBoolean(),
        random.nextBoolean() ? OptionalDouble.empty() : OptionalDouble.of(random.nextDouble()),
        batchSize);
  }

  private static CollectiveSample collective(Random random) {
    Collective collective = one(List.of(Collective.values()), random);
    int devices = 2 + random.nextInt(127);
    double[] bytes = new double[collective == Collective.ALL_TO_ALL ? devices : 1];
    double[] ms = new double[bytes.length];
    for (int d = 0; d < ms.length; d++) {
      bytes[d] = random.nextInt(5) == 0 ? 0 : positive(random);
      ms[d] = positive(random);
    }
    Optional<Direction> direction =
        random.nextBoolean()
            ? Optional.empty()
            : Optional.of(one(List.of(Direction.values()), random));
    return new CollectiveSample(
        collective, direction, devices, 1 + random.nextInt(devices), bytes, ms);
  }

  private static <T> T one(List<T> values, Random random) {
    return values.get(random.nextInt(values.size()));
  }

  /** Small and large, whole and not. */
  private static double positive(Random random) {
    return switch (random.nextInt(4)) {
      case 0 -> 1 + random.nextInt(1 << 30);
      case 1 -> (1 - random.nextDouble()) * Math.scalb(1.0, random.nextInt(600) - 300);
      case 2 -> 0x1p53 + random.nextInt(100) * 2;
      default -> (1 + random.nextInt(1_000_000)) / 1e5;
    };
  }
}
