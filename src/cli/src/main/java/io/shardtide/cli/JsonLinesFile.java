package io.shardtide.cli;

import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.BufferedWriter;
import java.io.Closeable;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;

/**
 * A file with a JSON object a line, such as plans. It appears, or replaces an earlier one, when it
 * is complete; what is not a regular file, such as a link or a pipe, is written directly.
 */
final class JsonLinesFile implements Closeable {
  private final ObjectMapper json = new ObjectMapper();
  private final Path file;
  private final Path written;
  private final BufferedWriter writer;

  /** Creates the file's folder if necessary. */
  JsonLinesFile(Path file) throws IOException {
    this.file = file.toAbsolutePath();
    boolean isReplaced =
        Files.notExists(this.file, LinkOption.NOFOLLOW_LINKS)
            || Files.isRegularFile(this.file, LinkOption.NOFOLLOW_LINKS);
    written = isReplaced ? this.file.resolveSibling(file.getFileName() + ".part") : this.file;
    Files.createDirectories(this.file.getParent());
    writer = Files.newBufferedWriter(written, StandardCharsets.UTF_8);
  }

  /** Returns an empty line. */
  ObjectNode newLine() {
    return json.createObjectNode();
  }

  void write(ObjectNode line) throws IOException {
    try {
      writer.write(json.writeValueAsString(line));
      writer.newLine();
    } catch (IOException e) {
      throw failed(e);
    }
  }

  /** A full disk says what it is, but not where. */
  private IOException failed(IOException cause) {
    return new IOException("%s cannot be written: %s".formatted(file, cause.getMessage()), cause);
  }

  /** Ends a complete file. */
  void complete() throws IOException {
    try {
      writer.close();
    } catch (IOException e) {
      throw failed(e);
    }
    if (!written.equals(file)) {
      Files.move(written, file, StandardCopyOption.REPLACE_EXISTING);
    }
  }

  /** Removes what was written if the file is not complete. */
  @Override
  public void close() throws IOException {
    writer.close();
    if (!written.equals(file)) {
      Files.deleteIfExists(written);
    }
  }
}
