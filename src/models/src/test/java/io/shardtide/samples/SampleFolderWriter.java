package io.shardtide.samples;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonGenerator;
import io.shardtide.cost.CollectiveSample;
import io.shardtide.cost.ComputeSample;
import io.shardtide.cost.DeviceShard;
import io.shardtide.cost.SampleSet;
import io.shardtide.workload.Collective;
import io.shardtide.workload.Optimizer;
import io.shardtide.workload.TableFeature;
import io.shardtide.workload.TableSpec;
import java.io.BufferedOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.zip.GZIPOutputStream;

/** Writes sample folders, which {@link SampleFolderReader} reads. */
public final class SampleFolderWriter {
  private static final JsonFactory JSON = new JsonFactory();

  /** Doubles up to this are written as whole numbers if they are. */
  private static final double MAX_WHOLE = 1L << 53;

  private SampleFolderWriter() {}

  @FunctionalInterface
  private interface FieldWriter<T> {
    void write(JsonGenerator json, T value) throws IOException;
  }

  /**
   * Writes {@code tables.jsonl}, {@code compute.jsonl.gz} and {@code collectives.jsonl.gz}. What is
   * read back is equal, but that columns and bytes of tables are not written.
   *
   * @param folder an empty folder, or one that does not exist
   * @throws IOException if a file cannot be written
   */
  public static void write(SampleSet samples, List<TableSpec> tables, int batchSize, Path folder)
      throws IOException {
    Files.createDirectories(folder);
    write(
        folder.resolve(SampleTables.NAME), tables, (json, table) -> table(json, table, batchSize));
    write(
        folder.resolve(SampleFolderReader.COMPUTE + ".gz"),
        samples.compute(),
        (json, sample) -> computation(json, samples.tables(), sample));
    write(
        folder.resolve(SampleFolderReader.COLLECTIVES + ".gz"),
        samples.collectives(),
        SampleFolderWriter::collective);
  }

  private static <T> void write(Path file, List<T> values, FieldWriter<T> writer)
      throws IOException {
    try (OutputStream out = new BufferedOutputStream(Files.newOutputStream(file));
        OutputStream target = file.toString().endsWith(".gz") ? new GZIPOutputStream(out) : out;
        JsonGenerator json = JSON.createGenerator(target)) {
      json.setRootValueSeparator(null);
      for (T value : values) {
        json.writeStartObject();
        writer.write(json, value);
        json.writeEndObject();
        json.writeRaw('\n');
      }
    }
  }

  private static void table(JsonGenerator json, TableSpec table, int reuseBatchSize)
      throws IOException {
    json.writeStringField("name", table.name());
    json.writeNumberField("rows", table.rows());
    number(json, "poolingFactor", table.poolingFactor());
    if (!table.features().isEmpty()) {
      json.writeArrayFieldStart("features");
      for (TableFeature feature : table.features()) {
        json.writeStartObject();
        feature(json, feature);
        json.writeEndObject();
      }
      json.writeEndArray();
    }
    if (table.reuseHistogram().isKnown()) {
      numbers(json, "reuseHistogram", array(table.reuseHistogram().shares()));
    }
    if (table.accessCdf().isKnown()) {
      numbers(json, "accessCdf", array(table.accessCdf().shares()));
    }
    if (reuseBatchSize != SampleTables.REUSE_BATCH_SIZE) {
      json.writeNumberField("reuseBatchSize", reuseBatchSize);
    }
  }

  private static void feature(JsonGenerator json, TableFeature feature) throws IOException {
    json.writeStringField("name", feature.name());
    number(json, "poolingFactor", feature.poolingFactor());
    if (feature.batchShare() != 1) {
      number(json, "batchShare", feature.batchShare());
    }
    if (feature.duplicates() != 1) {
      number(json, "duplicates", feature.duplicates());
    }
  }

  private static void computation(JsonGenerator json, List<String> tables, ComputeSample sample)
      throws IOException {
    json.writeArrayFieldStart("shards");
    for (DeviceShard shard : sample.shards()) {
      json.writeStartObject();
      json.writeNumberField("table", tables.indexOf(shard.table().name()));
      shard(json, shard);
      json.writeEndObject();
    }
    json.writeEndArray();
    if (sample.forwardMs().isPresent()) {
      double forward = sample.forwardMs().getAsDouble();
      number(json, "forward_ms", forward);
      number(json, "backward_ms", sample.computeMs() - forward);
    } else {
      number(json, "ms", sample.computeMs());
    }
  }

  private static void shard(JsonGenerator json, DeviceShard shard) throws IOException {
    json.writeNumberField("columns", shard.table().columns());
    number(json, "samples", shard.samples());
    if (shard.rowShare() != 1) {
      number(json, "rowShare", shard.rowShare());
    }
    if (shard.replicated()) {
      json.writeBooleanField("replicated", true);
    }
    if (shard.cacheShare().isPresent()) {
      number(json, "cacheShare", shard.cacheShare().getAsDouble());
    }
    if (shard.table().bytesPerElement() != SampleFolderReader.BYTES_PER_ELEMENT) {
      number(json, "bytesPerElement", shard.table().bytesPerElement());
    }
    if (shard.optimizer() != Optimizer.DEFAULT) {
      json.writeStringField("optimizer", shard.optimizer().label());
    }
    if (shard.table().enforceHbm()) {
      json.writeBooleanField("enforceHbm", true);
    }
    if (!shard.table().pooled()) {
      json.writeBooleanField("pooled", false);
    }
  }

  private static void collective(JsonGenerator json, CollectiveSample sample) throws IOException {
    json.writeStringField("collective", sample.collective().label());
    if (sample.direction().isPresent()) {
      json.writeStringField("direction", sample.direction().get().label());
    }
    json.writeNumberField("devices", sample.devices());
    json.writeNumberField("devicesPerNode", sample.devicesPerNode());
    if (sample.collective() == Collective.ALL_TO_ALL) {
      numbers(json, "bytesPerPeer", sample.bytes());
      numbers(json, "ms", sample.ms());
    } else {
      number(json, "bytes", sample.bytes()[0]);
      number(json, "ms", sample.ms()[0]);
    }
  }

  private static double[] array(List<Double> numbers) {
    return numbers.stream().mapToDouble(Double::doubleValue).toArray();
  }

  private static void numbers(JsonGenerator json, String field, double[] numbers)
      throws IOException {
    json.writeArrayFieldStart(field);
    for (double number : numbers) {
      number(json, number);
    }
    json.writeEndArray();
  }

  private static void number(JsonGenerator json, String field, double number) throws IOException {
    json.writeFieldName(field);
    number(json, number);
  }

  private static void number(JsonGenerator json, double number) throws IOException {
    if (number == Math.rint(number) && Math.abs(number) <= MAX_WHOLE) {
      json.writeNumber((long) number);
    } else {
      json.writeNumber(number);
    }
  }
}
