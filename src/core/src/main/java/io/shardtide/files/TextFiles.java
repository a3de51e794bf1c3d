package io.shardtide.files;

import java.io.BufferedInputStream;
import java.io.BufferedReader;
import java.io.EOFException;
import java.io.FilterInputStream;
import java.io.FilterReader;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.io.Reader;
import java.io.StringWriter;
import java.nio.ByteBuffer;
import java.nio.CharBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Locale;
import java.util.Optional;
import java.util.function.Consumer;
import java.util.zip.GZIPInputStream;
import java.util.zip.ZipException;

/**
 * Reads text files in UTF-8, plain or gzip, detected by content and not by name. Bytes that are not
 * UTF-8 are an error: a character in their place would be another name.
 */
public final class TextFiles {
  private static final int GZIP_MAGIC_1 = 0x1f;
  private static final int GZIP_MAGIC_2 = 0x8b;
  private static final int BUFFER_BYTES = 1 << 16;

  private TextFiles() {}

  /**
   * Opens a file.
   *
   * @return a reader whose methods throw {@link MalformedFileException} if gzip data is damaged,
   *     and with the line if the text is not UTF-8
   * @throws IOException if the file cannot be read
   */
  public static BufferedReader open(Path file) throws IOException {
    return new BufferedReader(new Utf8Text(file));
  }

  /**
   * Reads a whole file.
   *
   * @throws MalformedFileException as {@link #open}
   * @throws IOException if the file cannot be read
   */
  public static String read(Path file) throws IOException {
    StringWriter text = new StringWriter();
    try (Reader reader = open(file)) {
      reader.transferTo(text);
    }
    return text.toString();
  }

  private static InputStream bytes(Path file) throws IOException {
    InputStream in = new BufferedInputStream(new FileBytes(file), BUFFER_BYTES);
    try {
      in.mark(2);
      boolean isGzip = in.read() == GZIP_MAGIC_1 && in.read() == GZIP_MAGIC_2;
      in.reset();
      return isGzip ? new GzipText(file, in) : in;
    } catch (IOException e) {
      in.close();
      throw e instanceof EOFException || e instanceof ZipException ? damaged(file, e) : e;
    }
  }

  /**
   * Reads all lines.
   *
   * @param parser throws {@link IllegalArgumentException} for a line that it does not accept
   * @throws MalformedFileException with the number of that line, and as {@link #open}
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
          folder,
          0,
          String.format(Locale.ROOT, "%s must be there once, got %1$s and %1$s.gz", name));
    }
    return Optional.of(gzip);
  }

  private static MalformedFileException damaged(Path file, IOException cause) {
    return new MalformedFileException(
        file, 0, "gzip data must be complete and intact, got an error: " + cause.getMessage());
  }

  /** The bytes of a file, which may be a pipe: how many are left of that is an error of Java's. */
  private static final class FileBytes extends FilterInputStream {
    FileBytes(Path file) throws IOException {
      super(Files.newInputStream(file));
    }

    @Override
    public int available() {
      try {
        return super.available();
      } catch (IOException e) {
        // At least one, or the end: whoever asks reads on.
        return 1;
      }
    }
  }

  /** Text that says where it is not UTF-8. */
  private static final class Utf8Text extends FilterReader {
    private final Path file;

    Utf8Text(Path file) throws IOException {
      // A decoder, unlike a charset, replaces nothing.
      super(new InputStreamReader(bytes(file), StandardCharsets.UTF_8.newDecoder()));
      this.file = file;
    }

    @Override
    public int read(char[] chars, int offset, int length) throws IOException {
      try {
        return super.read(chars, offset, length);
      } catch (CharacterCodingException e) {
        throw notUtf8();
      }
    }

    /** Reads the file again, line by line, as a decoder that reads ahead cannot tell the line. */
    private IOException notUtf8() throws IOException {
      try (BufferedReader lines =
          new BufferedReader(new InputStreamReader(bytes(file), StandardCharsets.ISO_8859_1))) {
        int number = 0;
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
          number++;
          ByteBuffer bytes = ByteBuffer.wrap(line.getBytes(StandardCharsets.ISO_8859_1));
          CharBuffer chars = CharBuffer.allocate(bytes.capacity());
          if (StandardCharsets.UTF_8.newDecoder().decode(bytes, chars, true).isError()) {
            return new MalformedFileException(
                file,
                number,
                String.format(Locale.ROOT, "text must be UTF-8, got byte 0x%02x", bytes.get()));
          }
        }
      }
      // A pipe cannot be read again.
      return new MalformedFileException(file, 0, "text must be UTF-8");
    }
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
