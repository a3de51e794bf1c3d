package io.shardtide.neuroshard;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.tuple;
import static org.assertj.core.api.Assertions.within;

import io.shardtide.cost.CollectiveSample;
import io.shardtide.cost.SampleSet;
import io.shardtide.cost.SampledShard;
import io.shardtide.domain.Collective;
import io.shardtide.domain.Direction;
import io.shardtide.domain.TableSpec;
import io.shardtide.files.MalformedFileException;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
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
        SampleFiles.read(
            folder.resolve("samples"), SampleFiles.findTables(folder.resolve("samples")));
    assertThat(plain.compute()).hasSize(2);
    assertThat(plain.compute().get(0).shards())
        .containsExactly(
            SampledShard.ofColumns(0, 128, 65_536), SampledShard.ofColumns(1, 64, 65_536));
    assertThat(plain.compute().get(1).shards())
        .containsExactly(SampledShard.ofColumns(1, 4, 65_536));
    assertThat(plain.compute().get(1).computeMs()).isEqualTo(0.25);
    assertThat(plain.compute().get(1).forwardMs()).isEmpty();
    assertThat(plain.collectives()).hasSize(2);
    assertThat(plain.reuseBatchSizes()).containsOnly(65_536);

    Path file = folder.resolve("gz/compute/data.txt.gz");
    Files.createDirectories(file.getParent());
    try (OutputStream out = new GZIPOutputStream(Files.newOutputStream(file))) {
      out.write("0,3 1.5\n\n11 0.25\n".getBytes(StandardCharsets.UTF_8));
    }
    SampleSet compressed =
        SampleFiles.read(folder.resolve("gz"), folder.resolve("table_configs.json"));
    assertThat(compressed.compute()).isEqualTo(plain.compute());
    assertThat(compressed.collectives()).isEmpty();

    byte[] half = Files.readAllBytes(file);
    Files.write(file, Arrays.copyOf(half, half.length / 2));
    assertThatThrownBy(
            () -> SampleFiles.read(folder.resolve("gz"), folder.resolve("table_configs.json")))
        .isInstanceOf(MalformedFileException.class)
        .hasMessageStartingWith(file + ": gzip data must be complete and intact, got an error: ");
  }

  /** A device is idle until the last one begins, which a forward cost includes. */
  @Test
  void an_all_to_all_is_two_collectives_without_idle_time() throws IOException {
    write("samples/samples.json", "{\"batch_size\":1024}");
    write("samples/comm_3/data.txt", "64,32,0 0,1.5,2 3.5,2.0,1.9 1.1,1.2,1.3\n");
    write("samples/comm_2/data.txt", "4,8 0,5 4.5,5.5 1,1\n");
    SampleSet set =
        SampleFiles.read(folder.resolve("samples"), folder.resolve("table_configs.json"));
    assertThat(set.reuseBatchSizes()).containsOnly(1_024);
    assertThat(set.collectives())
        .allMatch(c -> c.collective() == Collective.ALL_TO_ALL)
        .extracting(CollectiveSample::devices, CollectiveSample::devicesPerNode)
        .containsExactly(tuple(2, 2), tuple(2, 2), tuple(3, 3), tuple(3, 3));
    assertThat(set.collectives())
        .extracting(c -> c.direction().orElseThrow())
        .containsExactly(
            Direction.FORWARD, Direction.BACKWARD, Direction.FORWARD, Direction.BACKWARD);
    assertThat(set.collectives().get(2).bytes())
        .isEqualTo(set.collectives().get(3).bytes())
        .containsExactly(new double[] {64 * 1024 * 4 / 3.0, 32 * 1024 * 4 / 3.0, 0}, within(1e-9));
    assertThat(set.collectives().get(2).ms())
        .containsExactly(new double[] {1.5, 1.5, 1.9}, within(1e-12));
    assertThat(set.collectives().get(3).ms()).containsExactly(1.1, 1.2, 1.3);
    assertThat(set.collectives().get(0).ms())
        .as("the first device was done before the second one began: a thousandth")
        .containsExactly(new double[] {0.0045, 5.5}, within(1e-12));
  }

  /** NeuroShard's collector writes the list of augmented tables next to the samples. */
  @Test
  void with_dims_an_index_is_a_position_in_the_table_file() throws IOException {
    write(
        "samples/compute/table_configs.json",
        "[" + config(100, ",\"dim\":64") + "," + config(100, ",\"dim\":16") + "]");
    write("samples/compute/data.txt", "1,0 2.0\n");
    Path samples = folder.resolve("samples");
    SampleSet set = SampleFiles.read(samples, SampleFiles.findTables(samples));
    assertThat(set.compute().get(0).shards())
        .containsExactly(
            SampledShard.ofColumns(1, 16, 65_536), SampledShard.ofColumns(0, 64, 65_536));
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
          '0,1 4'      | line 1: expected "id,id,... dim,dim,..." with the same number of ids and dims, got 2 and 1
          '0,1'        | line 1: expected "id,id,... dim,dim,..." with the same number of ids and dims, got 2 and 0
          '2 4'        | line 1: table id must be between 0 and 1, got 2
          'x 4'        | line 1: not an integer: "x"
          '0 6'        | line 1: columns of table "0" must be a multiple of 4
          ''           | : no tasks; expected lines
          """)
  void errors_of_tasks_name_the_line(String text, String message) throws IOException {
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
          compute/data.txt | 0,12 1.5                    | line 1: table index must be an integer between 0 and 11, got 12.0
          compute/data.txt | 0 1.5 2                     | line 1: a line must have 2 parts, got 3
          compute/data.txt | 0, 1.5                      | line 1: not a number: ""
          compute/data.txt | 0 -1                        | line 1: cost of a compute sample must be above 0 ms, got -1.0
          compute/data.txt | 0 NaN                       | line 1: cost of a compute sample must be above 0 ms, got NaN
          comm_2/data.txt  | 1,2,3 0,0,0 1,1,1 1,1,1     | line 1: number of devices must be 2 as in the folder's name, got 3
          comm_2/data.txt  | 1,2 0,0 1,1 1               | line 1: a communication sample must have four times as many numbers as devices
          comm_2/data.txt  | 1,2 0,-1 1,1 1,1            | line 1: columns and start of a communication sample must be at least 0
          comm_2/data.txt  | 1,2 0,0 1,1                 | line 1: a line must have 4 parts, got 3
          """)
  void errors_of_samples_name_the_line(String name, String text, String message)
      throws IOException {
    write("bad/" + name, text + "\n");
    assertThatThrownBy(
            () -> SampleFiles.read(folder.resolve("bad"), folder.resolve("table_configs.json")))
        .isInstanceOf(MalformedFileException.class)
        .hasMessageContaining(message);
  }

  @Test
  void errors_of_folders_name_what_is_missing() throws IOException {
    Path empty = Files.createDirectories(folder.resolve("empty"));
    assertThatThrownBy(() -> SampleFiles.read(empty, folder.resolve("table_configs.json")))
        .hasMessageContaining(": no samples; expected compute/data.txt and comm_D/data.txt");
    assertThatThrownBy(() -> SampleFiles.read(folder.resolve("nowhere"), empty))
        .hasMessageEndingWith("nowhere: not a folder");
    Files.delete(folder.resolve("table_configs.json"));
    assertThatThrownBy(() -> SampleFiles.findTables(empty))
        .hasMessageEndingWith(
            "no table_configs.json in this folder or its parent; use --tables FILE");
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      textBlock =
          """
          'not json'                              | : invalid JSON
          '{}'                                    | : expected a list of tables
          '[]'                                    | : expected a list of tables
          '[{"row":1}]'                           | table 0: pooling_factor must be a number, got nothing
          '[{"row":"x","pooling_factor":1}]'      | table 0: row must be a number, got "x"
          '[{"row":0,"pooling_factor":1}]'        | : invalid table: rows of table "0" must be
          """)
  void errors_of_tables_name_the_table(String text, String message) throws IOException {
    Path file = write("wrong.json", text);
    assertThatThrownBy(() -> TableConfigs.read(file))
        .isInstanceOf(MalformedFileException.class)
        .hasMessageContaining(message);
  }
}
