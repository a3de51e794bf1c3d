package io.shardtide.cli;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import io.shardtide.cost.CollectiveSample;
import io.shardtide.cost.ComputeSample;
import io.shardtide.cost.SampleSet;
import io.shardtide.cost.SampledShard;
import io.shardtide.domain.Collective;
import io.shardtide.domain.Direction;
import io.shardtide.samples.SampleFolderReader;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class CollectCommandTest {
  @TempDir private Path folder;

  private String[] command(String... options) {
    String[] all = new String[options.length + 5];
    all[0] = "collect";
    all[1] = "--hardware";
    all[2] = "cpu-test";
    all[3] = "--out";
    all[4] = folder.resolve("samples").toString();
    System.arraycopy(options, 0, all, 5, options.length);
    return all;
  }

  private static int run(StringWriter out, StringWriter err, String... command) {
    return Shardtide.run(new PrintWriter(out), new PrintWriter(err), command);
  }

  @Test
  void measurements_are_readable_as_samples() throws Exception {
    StringWriter out = new StringWriter();
    StringWriter err = new StringWriter();
    String[] command =
        command("--plans", "12", "--batch-size", "32", "--tables", "9", "--steps", "3");
    assertThat(run(out, err, command)).as(err.toString()).isZero();
    assertThat(out.toString())
        .contains("all_to_all of 4 devices, both directions", "median step above the fastest");
    Path written = folder.resolve("samples");
    SampleSet samples = SampleFolderReader.read(written, Optional.empty());
    assertThat(samples.reuseBatchSizes()).containsOnly(32);
    assertThat(samples.tables()).hasSize(9);
    // Those between nodes are of one device of each.
    List<CollectiveSample> allToAlls =
        samples.collectives().stream()
            .filter(c -> c.collective() == Collective.ALL_TO_ALL && c.devicesPerNode() > 1)
            .toList();
    assertThat(allToAlls)
        .extracting(CollectiveSample::devices)
        .containsExactly(2, 2, 3, 3, 4, 4, 2, 2, 3, 3, 4, 4, 2, 2, 3, 3, 4, 4, 2, 2, 3, 3, 4, 4);
    assertThat(allToAlls)
        .extracting(CollectiveSample::direction)
        .startsWith(Optional.of(Direction.FORWARD), Optional.of(Direction.BACKWARD));
    assertThat(samples.collectives())
        .extracting(CollectiveSample::shown)
        .contains("reduce_scatter.forward", "all_gather.backward", "all_reduce.backward");
    assertThat(samples.compute()).hasSizeBetween(12, 36).allMatch(s -> s.forwardMs().isPresent());
    assertThat(samples.compute())
        .flatExtracting(ComputeSample::shards)
        .allMatch(shard -> shard.table() < 9 && Integer.bitCount(shard.columns()) == 1)
        .allMatch(shard -> shard.replicated() ? shard.samples() <= 16 : shard.samples() == 32)
        .anyMatch(shard -> shard.rowShare() < 1)
        .anyMatch(SampledShard::replicated);
    // A device sends its columns of each other one's part of the batch, 4 bytes each, both ways.
    assertThat(
            allToAlls.stream()
                .mapToDouble(c -> Arrays.stream(c.bytes()).sum() * c.devices() / (32 * 4))
                .sum())
        .isCloseTo(
            2
                * samples.compute().stream()
                    .flatMap(s -> s.shards().stream())
                    .filter(shard -> shard.rowShare() == 1 && !shard.replicated())
                    .mapToDouble(SampledShard::columns)
                    .sum(),
            within(1e-6));
    assertThat(Files.readString(written.resolve("run-info.json")))
        .contains("\"hardware\" : \"cpu-test\"", "noise_of_a_step");

    assertThat(run(out, err, command)).isEqualTo(2);
    assertThat(err.toString()).contains("--out must be an empty folder");
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      textBlock =
          """
          --devices    | 1,2 | --devices must be numbers from 2 to 64, got [1, 2]
          --plans      | 0   | --plans and --tables must be at least 1
          --batch-size | 3   | --batch-size must be at least 4
          """)
  void invalid_options_are_named(String option, String value, String message) {
    StringWriter err = new StringWriter();
    assertThat(run(new StringWriter(), err, command(option, value))).isEqualTo(2);
    assertThat(err.toString()).contains(message);
  }
}
