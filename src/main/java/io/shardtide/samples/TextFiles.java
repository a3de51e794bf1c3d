package io.shardtide.samples;

import java.io.BufferedInputStream;
import java.io.BufferedReader;
import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Optional;
import java.util.function.Consumer;
import java.util.zip.GZIPInputStream;
import java.util.zip.ZipException;

/** Reads text files, plain or gzip, detected by content and not by name. */
public final class TextFiles {
  private static final int GZIP_MAGIC_1 = 0x1f;
  private static final int GZIP_MAGIC_2 = 0x8b;
  private static final int BUFFER_BYTES = 1 << 16;

  private TextFiles() {}

  /**
   * Opens a file.
   *
   * @return a reader whose methods throw {@link MalformedFileException} if gzip data is damaged
   * @throws IOException if the file cannot be read
   */
  public static BufferedReader open(Path file) throws IOException {
    InputStream in = new BufferedInputStream(Files.newInputStream(file), BUFFER_BYTES);
    try {
      in.mark(2);
      boolean isGzip = in.read() == GZIP_MAGIC_1 && in.read() == GZIP_MAGIC_2;
      in.reset();
      return new BufferedReader(
          new InputStreamReader(isGzip ? new GzipText(file, in) : in, StandardCharsets.UTF_8));
    } catch (EOFException | ZipException e) {
      in.close();
      throw damaged(file, e);
    } catch (IOException e) {
      in.close();
      throw e;
    }
  }

  /**
   * Reads all lines.
   *
   * @param parser throws {@link IllegalArgumentException} for a line that it does not accept
   * @throws MalformedFileException with the number of that line, or if gzip data is damaged
   * @throws IOException if the file cannot be read
   */
  public static void readLines(Path file, Consumer<String> parser) throws IOException {
    try (BufferedReader reader = open(file)) {
      int number = 0;
      for (String line = reader.readLine(); line != null; line = reader.readLine()) {
        number++;
        try {
          parser.accept(line);
        } catch (IllegalArgumentException e) {
          throw new MalformedFileException(file, number, e.getMessage());
        }
      }
    }
  }

  /**
   * Finds a file of a folder by its name, with or without {@code .gz}.
   *
   * @throws MalformedFileException if there are both
   */
  public static Optional<Path> find(Path folder, String name) throws MalformedFileException {
    Path plain = folder.resolve(name);
    Path gzip = folder.resolve(name + ".gz");
    if (!Files.isRegularFile(gzip)) {
      return Optional.of(plain).filter(Files::isRegularFile);
    }
    if (Files.isRegularFile(plain)) {
      throw new MalformedFileException(
          folder, 0, "%s must be there once, got %1$s and %1$s.gz".formatted(name));
    }
    return Optional.of(gzip);
  }

  private static MalformedFileException damaged(Path file, IOException cause) {
    return new MalformedFileException(
        file, 0, "gzip data must be complete and intact, got an error: " + cause.getMessage());
  }

  private static final class GzipText extends GZIPInputStream {
    private final Path file;

    GzipText(Path file, InputStream in) throws IOException {
      super(in, BUFFER_BYTES);
      this.file = file;
    }

    @Override
    public int read(byte[] bytes, int offset, int length) throws IOException {
      try {
        return super.read(bytes, offset, length);
      } catch (EOFException | ZipException e) {
        throw damaged(file, e);
      }
    }
  }
}
