package io.shardtide.neuroshard;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.shardtide.files.MalformedFileException;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class SampleFoldersTest {
  private static final Path REFERENCE = Path.of("src/models/src/test/resources/reference");
  private static final Path PYTORCH = Path.of("src/models/src/test/resources/samples/pytorch");

  @TempDir private Path folder;

  @Test
  void reads_both_formats() throws IOException {
    assertThat(SampleFolders.read(PYTORCH.resolve("train"), Optional.empty()).compute()).hasSize(4);
    assertThat(SampleFolders.read(REFERENCE.resolve("valid"), Optional.empty()).compute())
        .hasSize(1_000);
  }

  @Test
  void tables_given_are_in_the_format_of_the_samples() throws IOException {
    Files.copy(PYTORCH.resolve("train/compute.jsonl"), folder.resolve("compute.jsonl"));
    Path tables = PYTORCH.resolve("tables.jsonl");
    assertThat(SampleFolders.read(folder, Optional.of(tables)).tables()).hasSize(10);
    Path configs = REFERENCE.resolve("table_configs.json");
    assertThatThrownBy(() -> SampleFolders.read(folder, Optional.of(configs)))
        .isInstanceOf(MalformedFileException.class)
        .hasMessageStartingWith(configs + " line 1: a line must be one JSON object, got [");
    assertThat(SampleFolders.read(REFERENCE.resolve("valid"), Optional.of(configs)).tables())
        .hasSize(856);
  }

  @Test
  void a_folder_in_neither_format_is_an_error() throws IOException {
    assertThatThrownBy(() -> SampleFolders.read(folder, Optional.empty()))
        .isInstanceOf(MalformedFileException.class)
        .hasMessage(
            folder
                + ": no samples; expected compute.jsonl or collectives.jsonl, or NeuroShard's"
                + " compute/data.txt or comm_D/data.txt, plain or .gz");
    Path nowhere = folder.resolve("nowhere");
    assertThatThrownBy(() -> SampleFolders.read(nowhere, Optional.empty()))
        .hasMessage(nowhere + ": not a folder");
    Files.createFile(folder.resolve("tables.jsonl"));
    assertThatThrownBy(() -> SampleFolders.read(folder, Optional.empty()))
        .hasMessage(
            folder + ": no samples; expected compute.jsonl or collectives.jsonl, plain or .gz");
  }
}
