package io.shardtide.cli;

import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.shardtide.files.OutputFile;
import java.io.Closeable;
import java.io.IOException;
import java.nio.file.Path;

/** A file with a JSON object a line, such as plans; written whole, as an {@link OutputFile}. */
final class JsonLinesFile implements Closeable {
  private final ObjectMapper json = new ObjectMapper();
  private final OutputFile file;

  JsonLinesFile(Path file) throws IOException {
    this.file = OutputFile.create(file);
  }

  /** Returns an empty line. */
  ObjectNode newLine() {
    return json.createObjectNode();
  }

  void write(Object value) throws IOException {
    file.text().write(JsonText.line(value));
  }

  /** Ends a complete file. */
  void complete() throws IOException {
    file.complete();
  }

  /** Removes what was written if the file is not complete. */
  @Override
  public void close() throws IOException {
    file.close();
  }
}
