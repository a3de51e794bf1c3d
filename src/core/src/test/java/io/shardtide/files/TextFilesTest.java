package io.shardtide.files;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.BufferedReader;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.zip.GZIPOutputStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Text is UTF-8, or refused with the line; nothing is replaced. */
class TextFilesTest {
  /** Latin-1, a character that is cut off, one that is too long, half a surrogate pair. */
  private static final List<String> MALFORMED =
      List.of("caf\u00e9", "caf\u00c3", "\u00c0\u0080", "\u00ed\u00a0\u0080");

  @TempDir private Path folder;

  private Path write(String latin1, boolean gzip) throws IOException {
    ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    try (var out = gzip ? new GZIPOutputStream(bytes) : bytes) {
      out.write(latin1.getBytes(StandardCharsets.ISO_8859_1));
    }
    return Files.write(folder.resolve("a.txt"), bytes.toByteArray());
  }

  @Test
  void the_line_of_bytes_that_are_not_utf8_is_named() throws IOException {
    for (boolean gzip : new boolean[] {false, true}) {
      for (String malformed : MALFORMED) {
        // In the first buffer of a reader, and beyond it; with each end of a line.
        for (int before : new int[] {0, 1, 2, 5_000}) {
          for (String end : List.of("", "\n", "\r\nmore")) {
            Path file = write("line\n".repeat(before) + malformed + end, gzip);
            assertNamed(() -> TextFiles.read(file), before + 1);
            assertNamed(() -> TextFiles.readLines(file, line -> {}), before + 1);
            assertNamed(
                () -> {
                  try (BufferedReader reader = TextFiles.open(file)) {
                    while (reader.readLine() != null) {
                      // Until it fails.
                    }
                  }
                },
                before + 1);
          }
        }
      }
    }
  }

  private interface Reading {
    void run() throws IOException;
  }

  private void assertNamed(Reading reading, int line) {
    assertThatThrownBy(reading::run)
        .isInstanceOfSatisfying(
            MalformedFileException.class, e -> assertThat(e.line()).isEqualTo(line))
        .hasMessageMatching(
            folder.resolve("a.txt") + " line " + line + ": text must be UTF-8, got byte 0x..");
  }

  @Test
  void all_of_unicode_is_read_as_it_is() throws IOException {
    String text = "caf\u00e9 \u6f6e \ud83c\udfac \ufffd\nsecond\n";
    String bytes = new String(text.getBytes(StandardCharsets.UTF_8), StandardCharsets.ISO_8859_1);
    for (boolean gzip : new boolean[] {false, true}) {
      Path file = write(bytes, gzip);
      assertThat(TextFiles.read(file)).isEqualTo(text);
      List<String> lines = new ArrayList<>();
      TextFiles.readLines(file, lines::add);
      assertThat(lines).containsExactlyElementsOf(text.lines().toList());
    }
  }

  /** As in a shell {@code <(...)}, or /dev/stdin behind another program. */
  @Test
  @Timeout(60)
  void a_pipe_is_read_plain_or_gzip() throws Exception {
    Path pipe = folder.resolve("pipe");
    assertThat(new ProcessBuilder("mkfifo", pipe.toString()).start().waitFor()).isZero();
    String text = "line\n".repeat(100_000);
    for (String compress : List.of("cat", "gzip", "(head -c 250000 | gzip; cat | gzip)")) {
      Path plain = Files.writeString(folder.resolve("plain"), text);
      Process writer =
          new ProcessBuilder("sh", "-c", "cat %s | %s > %s".formatted(plain, compress, pipe))
              .start();
      assertThat(TextFiles.read(pipe)).as(compress).isEqualTo(text);
      assertThat(writer.waitFor()).isZero();
    }
  }
}
