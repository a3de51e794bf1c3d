package io.shardtide.neuroshard;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.shardtide.cost.ComputeSample.SampledShard;
import io.shardtide.cost.SampleSet;
import io.shardtide.domain.TableSpec;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.zip.GZIPOutputStream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class SampleFilesTest {
  @TempDir private Path folder;

  @BeforeEach
  void tables() throws IOException {
    write("table_configs.json", "[" + config(100, "") + "," + config(2000, "") + "]");
  }

  private static String config(long rows, String more) {
    StringBuilder json = new StringBuilder("{\"row\":" + rows + ",\"pooling_factor\":2.5" + more);
    for (int k = 0; k < 17; k++) {
      json.append(",\"bin_").append(k).append("\":").append(k == 0 ? 1.0 : 0.0);
    }
    return json.append("}").toString();
  }

  private Path write(String name, String text) throws IOException {
    Path file = folder.resolve(name);
    Files.createDirectories(file.getParent());
    return Files.writeString(file, text);
  }

  @Test
  void reads_plain_and_compressed_samples_alike() throws IOException {
    write("samples/compute/data.txt", "0,3 1.5\n\n11 0.25\n");
    write("samples/comm_2/data.txt", "64,32 0,1.5 3.5,2.0 1.1,1.2\n");
    SampleSet plain =
        Samples.read(folder.resolve("samples"), Samples.findTables(folder.resolve("samples")));
    assertThat(plain.compute()).hasSize(2);
    assertThat(plain.compute().get(0).shards())
        .containsExactly(new SampledShard(0, 128), new SampledShard(1, 64));
    assertThat(plain.compute().get(1).shards()).containsExactly(new SampledShard(1, 4));
    assertThat(plain.compute().get(1).computeMs()).isEqualTo(0.25);
    assertThat(plain.communication()).containsOnlyKeys(2);
    assertThat(plain.communication().get(2).get(0).waitMs(0)).isEqualTo(1.5);
    assertThat(plain.batchSize()).isEqualTo(65_536);

    Path file = folder.resolve("gz/compute/data.txt.gz");
    Files.createDirectories(file.getParent());
    try (OutputStream out = new GZIPOutputStream(Files.newOutputStream(file))) {
      out.write("0,3 1.5\n\n11 0.25\n".getBytes(StandardCharsets.UTF_8));
    }
    SampleSet compressed = Samples.read(folder.resolve("gz"), folder.resolve("table_configs.json"));
    assertThat(compressed.compute()).isEqualTo(plain.compute());
    assertThat(compressed.communication()).isEmpty();
  }

  /** NeuroShard's own collector writes the list of augmented tables beside the samples. */
  @Test
  void with_dims_an_index_is_a_position() throws IOException {
    write(
        "samples/compute/table_configs.json",
        "[" + config(100, ",\"dim\":64") + "," + config(100, ",\"dim\":16") + "]");
    write("samples/compute/data.txt", "1,0 2.0\n");
    Path samples = folder.resolve("samples");
    SampleSet set = Samples.read(samples, Samples.findTables(samples));
    assertThat(set.compute().get(0).shards())
        .containsExactly(new SampledShard(1, 16), new SampledShard(0, 64));
  }

  @Test
  void tasks_take_their_columns_from_the_task() throws IOException {
    List<TableSpec> tables = TableConfigs.read(folder.resolve("table_configs.json"));
    assertThat(tables.get(1).rows()).isEqualTo(2000);
    assertThat(tables.get(0).columns()).isEqualTo(128);
    assertThat(tables.get(0).reuseHistogram().shares()).startsWith(1.0, 0.0);
    List<Task> tasks = Task.read(write("tasks.txt", "1,1,0 4,8,128\n0 16\n"), tables);
    assertThat(tasks).hasSize(2);
    assertThat(tasks.get(0).tables()).extracting(TableSpec::name).containsExactly("0", "1", "2");
    assertThat(tasks.get(0).tables()).extracting(TableSpec::columns).containsExactly(4, 8, 128);
    assertThat(tasks.get(0).tables())
        .extracting(TableSpec::rows)
        .containsExactly(2000L, 2000L, 100L);
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      textBlock =
          """
          '0,1 4'      | line 1 has 2 ids and 1 dims; legal is "id,id,... dim,dim,..." with as many of both
          '0,1'        | line 1 has 2 ids and 0 dims
          '2 4'        | line 1 names table 2; legal are 0 to 1
          'x 4'        | line 1 has "x" where a whole number belongs
          '0 6'        | line 1 is not legal: Table "0" has 6 columns; legal are multiples of 4 from 4 to 4096
          ''           | has no tasks
          """)
  void a_wrong_task_is_named_with_its_line(String text, String message) throws IOException {
    Path file = write("tasks.txt", text + "\n");
    List<TableSpec> tables = TableConfigs.read(folder.resolve("table_configs.json"));
    assertThatThrownBy(() -> Task.read(file, tables))
        .isInstanceOf(MalformedFileException.class)
        .hasMessageStartingWith(file.toString())
        .hasMessageContaining(message);
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      textBlock =
          """
          compute/data.txt | 0,12 1.5                    | line 1 names table 12.0; legal are 0 to 11
          compute/data.txt | 0 1.5 2                     | line 1 has 3 parts; legal are 2
          compute/data.txt | 0, 1.5                      | line 1 has "" where a number belongs
          compute/data.txt | 0 -1                        | line 1 A compute sample of -1.0 ms
          compute/data.txt | 0 NaN                       | line 1 A compute sample of NaN ms
          comm_2/data.txt  | 1,2,3 0,0,0 1,1,1 1,1,1     | line 1 has 3 devices; legal is 2, as the folder says
          comm_2/data.txt  | 1,2 0,0 1,1 1               | line 1 A communication sample of 2, 2, 2 and 1 numbers
          comm_2/data.txt  | 1,2 0,-1 1,1 1,1            | line 1 A communication sample with 2 columns, start -1.0 ms
          comm_2/data.txt  | 1,2 0,0 1,1                 | line 1 has 3 parts; legal are 4
          """)
  void a_wrong_sample_is_named_with_its_line(String name, String text, String message)
      throws IOException {
    write("bad/" + name, text + "\n");
    assertThatThrownBy(
            () -> Samples.read(folder.resolve("bad"), folder.resolve("table_configs.json")))
        .isInstanceOf(MalformedFileException.class)
        .hasMessageContaining(message);
  }

  @Test
  void a_folder_without_samples_says_what_is_missing() throws IOException {
    Path empty = Files.createDirectories(folder.resolve("empty"));
    assertThatThrownBy(() -> Samples.read(empty, folder.resolve("table_configs.json")))
        .hasMessageContaining("has no samples; legal are compute/data.txt and comm_D/data.txt");
    assertThatThrownBy(() -> Samples.read(folder.resolve("nowhere"), empty))
        .hasMessageContaining("is not a folder of samples");
    Files.delete(folder.resolve("table_configs.json"));
    assertThatThrownBy(() -> Samples.findTables(empty))
        .hasMessageContaining("Maybe name it with --tables");
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      textBlock =
          """
          'not json'                              | is not JSON
          '{}'                                    | is not a list of tables
          '[]'                                    | is not a list of tables
          '[{"row":1}]'                           | has a table 0 whose pooling_factor is missing
          '[{"row":"x","pooling_factor":1}]'      | has a table 0 whose row is "x"; legal is a number
          '[{"row":0,"pooling_factor":1}]'        | Table "0" has 0 rows
          """)
  void wrong_tables_are_named(String text, String message) throws IOException {
    Path file = write("wrong.json", text);
    assertThatThrownBy(() -> TableConfigs.read(file))
        .isInstanceOf(MalformedFileException.class)
        .hasMessageContaining(message);
  }
}
