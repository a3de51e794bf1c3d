package io.shardtide.files;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assumptions.assumeThat;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A file is replaced as a whole, or not at all. */
class OutputFileTest {
  @TempDir private Path folder;

  private List<Path> files() throws IOException {
    try (Stream<Path> files = Files.list(folder)) {
      return files.toList();
    }
  }

  @Test
  void a_file_is_replaced_when_it_is_complete() throws IOException {
    Path file = Files.writeString(folder.resolve("a.txt"), "before");
    try (OutputFile output = OutputFile.create(file)) {
      output.text().write("aft");
      assertThat(file).hasContent("before");
      output.text().write("er\u00e9");
      output.complete();
    }
    assertThat(Files.readString(file)).isEqualTo("after\u00e9");
    assertThat(files()).containsExactly(file);
  }

  @Test
  void a_file_that_is_not_complete_leaves_the_earlier_one_and_nothing_else() throws IOException {
    Path file = Files.writeString(folder.resolve("a.txt"), "before");
    assertThatThrownBy(
            () -> {
              try (OutputFile output = OutputFile.create(file)) {
                output.bytes().write(new byte[1 << 20]);
                throw new IllegalStateException("stopped");
              }
            })
        .hasMessage("stopped")
        .hasNoSuppressedExceptions();
    assertThat(file).hasContent("before");
    assertThat(files()).containsExactly(file);
  }

  @Test
  void two_writers_of_a_file_do_not_mix() throws IOException {
    Path file = folder.resolve("a.txt");
    try (OutputFile one = OutputFile.create(file);
        OutputFile other = OutputFile.create(file)) {
      for (int i = 0; i < 10_000; i++) {
        one.text().write("1\n");
        other.text().write("2\n");
      }
      one.complete();
      assertThat(Files.readString(file)).isEqualTo("1\n".repeat(10_000));
      other.complete();
    }
    assertThat(Files.readString(file)).isEqualTo("2\n".repeat(10_000));
    assertThat(files()).containsExactly(file);
  }

  @Test
  void a_link_stays_one_and_what_it_leads_to_is_replaced_as_a_whole() throws IOException {
    Path target = Files.writeString(folder.resolve("target.txt"), "before");
    Path link = Files.createSymbolicLink(folder.resolve("link.txt"), target);
    try (OutputFile output = OutputFile.create(link)) {
      output.text().write("after");
      output.text().flush();
      assertThat(target).hasContent("before");
      output.complete();
    }
    assertThat(target).hasContent("after");
    assertThat(link).isSymbolicLink();
  }

  @Test
  void a_folder_may_be_a_link_and_is_created_if_it_does_not_exist() throws IOException {
    Path real = Files.createDirectory(folder.resolve("real"));
    Path link = Files.createSymbolicLink(folder.resolve("link"), real);
    OutputFile.write(link.resolve("a.txt"), "a");
    OutputFile.write(link.resolve("deep/b.txt"), "b");
    assertThat(real.resolve("a.txt")).hasContent("a");
    assertThat(real.resolve("deep/b.txt")).hasContent("b");
  }

  @Test
  void a_full_disk_is_an_error_that_names_the_file() {
    Path full = Path.of("/dev/full");
    assumeThat(full).exists();
    assertThatThrownBy(() -> OutputFile.write(full, "a"))
        .hasMessage("/dev/full cannot be written: No space left on device");
  }

  @Test
  void a_device_is_written_directly() throws IOException {
    Path device = Path.of("/dev/null");
    assumeThat(device).exists();
    try (OutputFile output = OutputFile.create(device)) {
      output.bytes().write("a".getBytes(StandardCharsets.UTF_8));
      output.complete();
    }
    assertThat(Files.isRegularFile(device)).isFalse();
  }
}
