package io.shardtide.samples;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.shardtide.cost.CollectiveSample;
import io.shardtide.cost.ComputeSample;
import io.shardtide.cost.DeviceShard;
import io.shardtide.cost.SampleSet;
import io.shardtide.files.MalformedFileException;
import io.shardtide.workload.AccessCdf;
import io.shardtide.workload.Collective;
import io.shardtide.workload.Direction;
import io.shardtide.workload.Optimizer;
import io.shardtide.workload.ReuseHistogram;
import io.shardtide.workload.TableSpec;
import io.shardtide.workload.TableSpecBuilder;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.zip.GZIPOutputStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class SampleFolderReaderTest {
  private static final String TABLES =
      """
      {"name":"a","rows":100,"poolingFactor":2.5}
      {"name":"b","rows":16,"poolingFactor":1,"reuseHistogram":null,"accessCdf":[0.25,0.5,1]}
      """;
  private static final String COMPUTE =
      """
      {"shards":[{"table":0,"columns":64,"samples":8}],"ms":1.5}
      """;

  @TempDir private Path parent;

  private Path write(String name, String text) throws IOException {
    Path file = parent.resolve(name);
    Files.createDirectories(file.getParent());
    return Files.writeString(file, text);
  }

  private Path writeGzip(String name, byte[] bytes) throws IOException {
    Path file = parent.resolve(name);
    Files.createDirectories(file.getParent());
    return Files.write(file, bytes);
  }

  private static byte[] gzip(String text) throws IOException {
    ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    try (OutputStream out = new GZIPOutputStream(bytes)) {
      out.write(text.getBytes(StandardCharsets.UTF_8));
    }
    return bytes.toByteArray();
  }

  private SampleSet read() throws IOException {
    return SampleFolderReader.read(parent.resolve("samples"), Optional.empty());
  }

  private static DeviceShard shard(
      TableSpec table,
      int columns,
      double bytesPerElement,
      double samples,
      double rowShare,
      boolean replicated,
      OptionalDouble cacheShare) {
    return new DeviceShard(
        TableSpecBuilder.builder(table)
            .columns(columns)
            .bytesPerElement(bytesPerElement)
            .optimizer(Optional.of(Optimizer.DEFAULT))
            .build(),
        samples,
        rowShare,
        replicated,
        cacheShare,
        65_536);
  }

  @Test
  void reads_each_field_and_its_default() throws IOException {
    write("samples/tables.jsonl", TABLES);
    write(
        "samples/compute.jsonl",
        """
        {"shards":[{"table":1,"columns":64,"samples":512,"rowShare":0.125,"replicated":true,\
        "cacheShare":0.05,"bytesPerElement":2},{"table":0,"columns":4.0,"samples":8.0}],\
        "forward_ms":0.25,"backward_ms":0.5,"optimizer_ms":0.125}
        {"shards":[{"table":0,"columns":4,"samples":8,"rowShare":null,"replicated":null,\
        "cacheShare":null,"bytesPerElement":null}],"ms":1.5,"forward_ms":null}
        """);
    write(
        "samples/collectives.jsonl",
        """
        {"collective":"all_to_all","devices":3,"devicesPerNode":2,"bytesPerPeer":[1,2.5,0],"ms":[1,2,3]}
        {"collective":"all_reduce","devices":16,"devicesPerNode":8,"bytes":1e9,"ms":2.5,"direction":"backward"}
        """);
    SampleSet set = read();
    TableSpec a = new TableSpec("a", 100, 4, 2.5, ReuseHistogram.UNKNOWN, 4);
    TableSpec b =
        TableSpecBuilder.builder(new TableSpec("b", 16, 4, 1, ReuseHistogram.UNKNOWN, 4))
            .accessCdf(new AccessCdf(List.of(0.25, 0.5, 1.0)))
            .build();
    assertThat(set.tables()).containsExactly("a", "b");
    assertThat(SampleFolderReader.tables(parent.resolve("samples/tables.jsonl")))
        .containsExactly(a, b);
    DeviceShard wide = shard(b, 64, 2, 512, 0.125, true, OptionalDouble.of(0.05));
    DeviceShard narrow = shard(a, 4, 4, 8, 1, false, OptionalDouble.empty());
    assertThat(set.compute())
        .containsExactly(
            ComputeSample.of(List.of(wide, narrow), 0.25, 0.5),
            new ComputeSample(List.of(narrow), 1.5));
    CollectiveSample allToAll = set.collectives().get(0);
    assertThat(allToAll.collective()).isEqualTo(Collective.ALL_TO_ALL);
    assertThat(allToAll.direction()).isEmpty();
    assertThat(allToAll.devices()).isEqualTo(3);
    assertThat(allToAll.devicesPerNode()).isEqualTo(2);
    assertThat(allToAll.bytes()).containsExactly(1, 2.5, 0);
    assertThat(allToAll.ms()).containsExactly(1, 2, 3);
    CollectiveSample allReduce = set.collectives().get(1);
    assertThat(allReduce.collective()).isEqualTo(Collective.ALL_REDUCE);
    assertThat(allReduce.direction()).contains(Direction.BACKWARD);
    assertThat(allReduce.bytes()).containsExactly(1e9);
    assertThat(allReduce.ms()).containsExactly(2.5);
  }

  @Test
  void tables_are_in_the_folder_or_its_parent_or_given() throws IOException {
    write("tables.jsonl", TABLES.replace("\"a\"", "\"parent\""));
    writeGzip("samples/compute.jsonl.gz", gzip(COMPUTE));
    assertThat(read().tables().get(0)).isEqualTo("parent");
    write("samples/tables.jsonl", TABLES.replace("\"a\"", "\"own\""));
    assertThat(read().tables().get(0)).isEqualTo("own");
    Path given = write("given", TABLES.replace("\"a\"", "\"given\""));
    assertThat(
            SampleFolderReader.read(parent.resolve("samples"), Optional.of(given)).tables().get(0))
        .isEqualTo("given");
  }

  @Test
  void collectives_need_no_tables() throws IOException {
    write(
        "samples/collectives.jsonl",
        "{\"collective\":\"all_gather\",\"devices\":2,\"devicesPerNode\":1,\"bytes\":0,\"ms\":1}");
    SampleSet set = read();
    assertThat(set.tables()).isEmpty();
    assertThat(set.compute()).isEmpty();
    assertThat(set.collectives()).hasSize(1);
  }

  @Test
  void each_table_has_the_batch_of_its_reuse_histogram() throws IOException {
    write(
        "samples/tables.jsonl",
        TABLES.replaceFirst("\"rows\"", "\"reuseBatchSize\":4096,\"rows\""));
    write("samples/compute.jsonl", COMPUTE + COMPUTE.replace("\"table\":0", "\"table\":1"));
    assertThat(read().compute())
        .extracting(sample -> sample.shards().get(0).reuseBatchSize())
        .containsExactly(4_096, 65_536);
  }

  @Test
  void reads_the_documented_example() throws IOException {
    List<String> lines =
        Files.readAllLines(Path.of("docs/MODELS.md")).stream()
            .filter(line -> line.startsWith("{\"") && !line.startsWith("{\"task\""))
            .toList();
    assertThat(lines).hasSize(4);
    write("samples/tables.jsonl", lines.get(0));
    write("samples/compute.jsonl", lines.get(1));
    write("samples/collectives.jsonl", lines.get(2) + "\n" + lines.get(3));
    SampleSet set = read();
    assertThat(set.compute()).hasSize(1);
    assertThat(set.collectives()).hasSize(2);
  }

  /** Written by {@code python3 -m shardtide.collect} on a CPU; some samples were left out. */
  @Test
  void reads_what_the_collector_in_python_writes() throws IOException {
    SampleSet set =
        SampleFolderReader.read(
            Path.of("src/models/src/test/resources/samples/pytorch/train"), Optional.empty());
    List<TableSpec> tables =
        SampleFolderReader.tables(
            Path.of("src/models/src/test/resources/samples/pytorch/tables.jsonl"));
    assertThat(set.tables()).hasSize(10);
    assertThat(tables).allMatch(t -> t.reuseHistogram().isKnown() && t.accessCdf().isKnown());
    assertThat(set.compute()).hasSize(4).allMatch(s -> s.forwardMs().isPresent());
    assertThat(set.compute().get(0))
        .isEqualTo(
            ComputeSample.of(
                List.of(
                    shard(tables.get(0), 64, 2, 64, 1, true, OptionalDouble.empty()),
                    shard(tables.get(1), 244, 2, 128, 1, false, OptionalDouble.empty()),
                    shard(tables.get(4), 28, 4, 128, 0.5, false, OptionalDouble.empty())),
                0.73645,
                21.77117));
  }

  /** In a line, S stands for the legal fields of a shard, A for those of an all-to-all. */
  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      quoteCharacter = '`',
      textBlock =
          """
          tables      | {"rows":1,"poolingFactor":1}                               | name must be a string, got nothing
          tables      | {"name":7,"rows":1,"poolingFactor":1}                      | name must be a string, got 7
          tables      | {"name":" ","rows":1,"poolingFactor":1}                    | table name must have 1 to 255 characters, none of them a control character, got " ": it is empty
          tables      | {"name":"c","rows":0,"poolingFactor":1}                    | rows of table "c" must be between 1 and 2^36, got 0
          tables      | {"name":"c","rows":68719476737,"poolingFactor":1}          | rows of table "c" must be between 1 and 2^36, got 68719476737
          tables      | {"name":"c","rows":1.5,"poolingFactor":1}                  | rows must be a whole number below 2^63, got 1.5
          tables      | {"name":"c","rows":"9","poolingFactor":1}                  | rows must be a whole number below 2^63, got "9"
          tables      | {"name":"c","rows":9}                                      | poolingFactor must be a number, got nothing
          tables      | {"name":"c","rows":9,"poolingFactor":-1}                   | pooling factor of table "c" must be between 0 and 1000000 lookups per sample, got -1.0 lookups per sample
          tables      | {"name":"c","rows":9,"poolingFactor":NaN}                  | poolingFactor must be a number, got NaN
          tables      | {"name":"c","rows":9,"poolingFactor":1,"reuseHistogram":[1]} | reuse histogram must have 17 shares between 0 and 1 that sum to 1, or none if unknown, got 1 shares
          tables      | {"name":"c","rows":9,"poolingFactor":1,"accessCdf":0.5}    | accessCdf must be a list, each a number, got 0.5
          tables      | {"name":"c","rows":9,"poolingFactor":1,"accessCdf":[0.5,null,1]} | accessCdf[1] must be a number, got null
          tables      | {"name":"c","rows":9,"poolingFactor":1,"accessCdf":[0.5,0.4,1]} | entry 1 of an access CDF must be at least 0.5, the one before, got 0.4
          tables      | {"name":"c","rows":9,"poolingFactor":1,"accessCdf":[0.5,0.6,0.9]} | entry 2 of an access CDF must be 1, as all rows have all lookups, got 0.9
          tables      | {"name":"c","rows":9,"poolingFactor":1,"accessCdf":[0.5,1]} | entries of the access CDF of table "c" must be 3 for its 9 rows, got 2
          tables      | {"name":"c","rows":9,"poolingFactor":1,"reuseBatchSize":0} | reuseBatchSize must be between 1 and 2147483647, got 0
          compute     | hello                                                      | invalid JSON: Unrecognized token 'hello': was expecting (JSON String, Number (or 'NaN'/'+INF'/'-INF'), Array, Object or token 'null', 'true' or 'false')
          compute     | {"shards":[{S}],"ms":1                                     | invalid JSON: the line ends within a value
          compute     | {"shards":[{S}],"ms":1,"ms":2}                             | invalid JSON: Duplicate field 'ms'
          compute     | [1]                                                        | a line must be one JSON object, got [1]
          compute     | {"shards":[{S}],"ms":1} 2                                  | a line must be one JSON object, got more from column 70
          compute     | {"ms":1}                                                   | shards must be a list, each an object, got nothing
          compute     | {"shards":[],"ms":1}                                       | a compute sample must have shards, got none
          compute     | {"shards":{S},"ms":1}                                      | shards must be a list, each an object, got {"table":0,"columns":4,"samples":8,"rowShare":1}
          compute     | {"shards":[7],"ms":1}                                      | shards[0] must be an object, got 7
          compute     | {"shards":[{S},{"table":2,"columns":4,"samples":8}],"ms":1} | shards[1]: table must be a line of tables.jsonl, from 0 and below 2, got 2
          compute     | {"shards":[{"table":-1,"columns":4,"samples":8}],"ms":1}   | shards[0]: table must be a line of tables.jsonl, from 0 and below 2, got -1
          compute     | {"shards":[{"table":0,"samples":8}],"ms":1}                | shards[0]: columns must be a whole number below 2^31, got nothing
          compute     | {"shards":[{"table":0,"columns":0,"samples":8}],"ms":1}    | shards[0]: columns of table "a" must be a multiple of 4 between 4 and 4096, got 0
          compute     | {"shards":[{"table":0,"columns":4}],"ms":1}                | shards[0]: samples must be a number, got nothing
          compute     | {"shards":[{"table":0,"columns":4,"samples":0}],"ms":1}    | shards[0]: samples of a shard must be above 0, got 0.0
          compute     | {"shards":[{"table":0,"columns":4,"samples":1e400}],"ms":1} | shards[0]: samples must be a number, got Infinity
          compute     | {"shards":[{"table":0,"columns":4,"samples":8,"rowShare":0}],"ms":1} | shards[0]: rowShare of a shard must be above 0 and at most 1, got 0.0
          compute     | {"shards":[{"table":0,"columns":4,"samples":8,"rowShare":1.5}],"ms":1} | shards[0]: rowShare of a shard must be above 0 and at most 1, got 1.5
          compute     | {"shards":[{S,"replicated":1}],"ms":1}                     | shards[0]: replicated must be true or false, got 1
          compute     | {"shards":[{S,"cacheShare":-0.1}],"ms":1}                  | shards[0]: cacheShare of a shard must be between 0 and 1, got -0.1
          compute     | {"shards":[{S,"cacheShare":"all of the rows, all of the columns, all of the weights, all"}],"ms":1} | shards[0]: cacheShare must be a number, got "all of the rows, all of the columns, all of the weights, al...
          compute     | {"shards":[{S,"bytesPerElement":0}],"ms":1}                | shards[0]: bytes per element of table "a" must be above 0 and at most 64, got 0.0
          compute     | {"shards":[{S}]}                                           | forward_ms must be a number, got nothing
          compute     | {"shards":[{S}],"forward_ms":1}                            | backward_ms must be a number, got nothing
          compute     | {"shards":[{S}],"forward_ms":1,"backward_ms":0}            | backward_ms must be above 0, got 0.0
          compute     | {"shards":[{S}],"forward_ms":-1,"backward_ms":2}           | forward_ms must be above 0, got -1.0
          compute     | {"shards":[{S}],"forward_ms":NaN,"backward_ms":2}          | forward_ms must be a number, got NaN
          compute     | {"shards":[{S}],"forward_ms":1,"backward_ms":1e-20}        | forward part of a compute sample must be above 0 and below its 1.0 ms, got 1.0 ms
          compute     | {"shards":[{S}],"forward_ms":1,"ms":2}                     | a line must have either ms or forward_ms and backward_ms, got both
          compute     | {"shards":[{S}],"ms":[1]}                                  | ms must be a number, got [1]
          collectives | {A,"collective":null,"ms":[1,1]}                           | collective must be one of all_to_all, reduce_scatter, all_gather, all_reduce, got null
          collectives | {A,"collective":"all_to_one","ms":[1,1]}                   | collective must be one of all_to_all, reduce_scatter, all_gather, all_reduce, got "all_to_one"
          collectives | {A,"collective":"all_to_all","ms":[1,1],"direction":"up"}  | direction must be one of forward, backward, got "up"
          collectives | {"collective":"all_reduce","devices":1,"devicesPerNode":1,"bytes":1,"ms":1} | devices of a collective must be at least 2, got 1
          collectives | {"collective":"all_reduce","devices":2,"devicesPerNode":0,"bytes":1,"ms":1} | devices per node of a collective must be between 1 and 2, got 0
          collectives | {"collective":"all_reduce","devices":2,"devicesPerNode":3,"bytes":1,"ms":1} | devices per node of a collective must be between 1 and 2, got 3
          collectives | {"collective":"all_to_all","devices":3,"devicesPerNode":3,"bytesPerPeer":[1,2],"ms":[1,1]} | all_to_all of 3 devices must have 3 numbers of bytes and of ms, got 2 and 2
          collectives | {A,"collective":"all_to_all","ms":[1,1,1]}                 | all_to_all of 2 devices must have 2 numbers of bytes and of ms, got 2 and 3
          collectives | {A,"collective":"all_to_all","ms":1}                       | ms must be a list, each a number, got 1
          collectives | {A,"collective":"all_to_all","ms":[1,0]}                   | ms of a collective must be above 0, got 0.0
          collectives | {A,"collective":"all_to_all","ms":[NaN,1]}                 | ms[0] must be a number, got NaN
          collectives | {A,"collective":"all_to_all","ms":["1",1]}                 | ms[0] must be a number, got "1"
          collectives | {A,"collective":"all_reduce","ms":1}                       | bytes must be a number, got nothing
          collectives | {A,"collective":"all_reduce","bytes":-1,"ms":1}            | bytes of a collective must be at least 0, got -1.0
          collectives | {A,"collective":"all_reduce","bytes":1,"ms":[1]}           | ms must be a number, got [1]
          """)
  void errors_name_the_line_the_field_and_the_value(String name, String line, String message)
      throws IOException {
    String wrong =
        line.replace("{S", "{\"table\":0,\"columns\":4,\"samples\":8,\"rowShare\":1")
            .replace("{A", "{\"devices\":2,\"devicesPerNode\":2,\"bytesPerPeer\":[1,2]");
    write("samples/tables.jsonl", TABLES);
    write("samples/compute.jsonl", COMPUTE);
    Path file = parent.resolve("samples/" + name + ".jsonl");
    String right = Files.exists(file) ? Files.readString(file) : "";
    Files.writeString(file, right + wrong + "\n");
    assertThatThrownBy(this::read)
        .isExactlyInstanceOf(MalformedFileException.class)
        .hasMessage("%s line %d: %s", file, right.lines().count() + 1, message);
  }

  @Test
  void an_empty_line_is_an_error() throws IOException {
    write("samples/tables.jsonl", TABLES);
    Path file = write("samples/compute.jsonl", COMPUTE + "\n" + COMPUTE);
    assertThatThrownBy(this::read)
        .isExactlyInstanceOf(MalformedFileException.class)
        .hasMessage("%s line 2: a line must be one JSON object, got nothing", file);
  }

  @Test
  void damaged_gzip_is_an_error() throws IOException {
    write("samples/tables.jsonl", TABLES);
    byte[] whole = gzip(COMPUTE.repeat(100));
    for (int length : new int[] {3, whole.length / 2, whole.length - 4}) {
      Path file = writeGzip("samples/compute.jsonl.gz", Arrays.copyOf(whole, length));
      assertThatThrownBy(this::read)
          .isExactlyInstanceOf(MalformedFileException.class)
          .hasMessageStartingWith(file + ": gzip data must be complete and intact, got an error: ");
    }
    whole[whole.length - 6] ^= 1;
    Path file = writeGzip("samples/compute.jsonl.gz", whole);
    assertThatThrownBy(this::read)
        .hasMessage(
            "%s: gzip data must be complete and intact, got an error: Corrupt GZIP trailer", file);
  }

  @Test
  void errors_of_folders_name_what_is_missing() throws IOException {
    Path folder = parent.resolve("samples");
    assertThatThrownBy(this::read)
        .isExactlyInstanceOf(MalformedFileException.class)
        .hasMessage(folder + ": not a folder");
    Files.createDirectories(folder);
    String none =
        folder + ": no samples; expected compute.jsonl or collectives.jsonl, plain or .gz";
    assertThatThrownBy(this::read).hasMessage(none);
    write("samples/compute.jsonl", "");
    assertThatThrownBy(this::read)
        .hasMessage(folder + ": no tables.jsonl in this folder or its parent; use --tables FILE");
    write("samples/tables.jsonl", "");
    assertThatThrownBy(this::read).hasMessage(none);
    write("samples/compute.jsonl", COMPUTE);
    assertThatThrownBy(this::read)
        .hasMessage(
            "%s line 1: shards[0]: table must be a line of tables.jsonl, from 0 and below 0, got 0",
            folder.resolve("compute.jsonl"));
    writeGzip("samples/compute.jsonl.gz", gzip(COMPUTE));
    assertThatThrownBy(this::read)
        .hasMessage(
            folder + ": compute.jsonl must be there once, got compute.jsonl and compute.jsonl.gz");
  }
}
