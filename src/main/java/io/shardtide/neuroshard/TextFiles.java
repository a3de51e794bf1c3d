package io.shardtide.neuroshard;

import java.io.BufferedInputStream;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.zip.GZIPInputStream;

/** Opens text files, plain or gzip, detected by content and not by name. */
final class TextFiles {
  private static final int GZIP_MAGIC_1 = 0x1f;
  private static final int GZIP_MAGIC_2 = 0x8b;

  private TextFiles() {}

  static BufferedReader open(Path file) throws IOException {
    InputStream in = new BufferedInputStream(Files.newInputStream(file));
    try {
      in.mark(2);
      boolean gzip = in.read() == GZIP_MAGIC_1 && in.read() == GZIP_MAGIC_2;
      in.reset();
      return new BufferedReader(
          new InputStreamReader(gzip ? new GZIPInputStream(in) : in, StandardCharsets.UTF_8));
    } catch (IOException e) {
      in.close();
      throw e;
    }
  }

  /** Returns {@code data.txt} or {@code data.txt.gz} in a folder, or null if it has neither. */
  static Path dataFile(Path folder) {
    for (String name : new String[] {"data.txt", "data.txt.gz"}) {
      if (Files.isRegularFile(folder.resolve(name))) {
        return folder.resolve(name);
      }
    }
    return null;
  }
}
