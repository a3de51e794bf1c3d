package io.shardtide.cli;

import io.shardtide.files.OutputFile;
import java.io.Closeable;
import java.io.IOException;
import java.nio.file.Path;

/** A file with a JSON object a line, such as plans; written whole, as an {@link OutputFile}. */
final class JsonLinesFile implements Closeable {
  private final OutputFile file;

  JsonLinesFile(Path file) throws IOException {
    this.file = OutputFile.create(file);
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
