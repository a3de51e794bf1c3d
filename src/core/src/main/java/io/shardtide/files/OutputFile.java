package io.shardtide.files;

import java.io.BufferedOutputStream;
import java.io.BufferedWriter;
import java.io.Closeable;
import java.io.FilterOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.io.OutputStreamWriter;
import java.io.Writer;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.AccessDeniedException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.util.UUID;

/**
 * A file that is written whole: it appears, or replaces an earlier one in one step, when it is
 * complete; until then the earlier one stays. Its bytes go to a file beside it whose name is used
 * once, so that two programs that write the same file never mix. A link is followed; what is not a
 * regular file, such as a pipe, is written directly.
 */
public final class OutputFile implements Closeable {
  private final Path file;
  private final Path target;
  private final Path written;
  private final OutputStream bytes;
  private final Writer text;

  private OutputFile(Path file) throws IOException {
    this.file = file;
    target = target(file.toAbsolutePath());
    boolean isReplaced =
        Files.notExists(target, LinkOption.NOFOLLOW_LINKS)
            || Files.isRegularFile(target, LinkOption.NOFOLLOW_LINKS);
    Files.createDirectories(target.getParent());
    if (isReplaced) {
      written = target.resolveSibling(".shardtide-%s.part".formatted(UUID.randomUUID()));
      try {
        bytes = named(Files.newOutputStream(written, StandardOpenOption.CREATE_NEW));
      } catch (AccessDeniedException e) {
        throw new AccessDeniedException(file.toString(), null, e.getReason());
      }
    } else {
      written = target;
      bytes = named(Files.newOutputStream(written));
    }
    text = new BufferedWriter(new OutputStreamWriter(bytes, StandardCharsets.UTF_8));
  }

  /**
   * Begins a file.
   *
   * @param file the file; its folder is created if necessary
   * @throws IOException if it cannot be written
   */
  public static OutputFile create(Path file) throws IOException {
    return new OutputFile(file);
  }

  /** Writes a text as a file. */
  public static void write(Path file, String text) throws IOException {
    try (OutputFile output = create(file)) {
      output.text().write(text);
      output.complete();
    }
  }

  /** Returns what a link leads to, except for the links by which a system names open files. */
  private static Path target(Path file) throws IOException {
    boolean isOpen = file.startsWith("/dev") || file.startsWith("/proc");
    return !isOpen && Files.isSymbolicLink(file) && Files.isRegularFile(file)
        ? file.toRealPath()
        : file;
  }

  /** A full disk says what it is, but not where. */
  private OutputStream named(OutputStream raw) {
    return new BufferedOutputStream(
        new FilterOutputStream(raw) {
          @Override
          public void write(byte[] b, int off, int len) throws IOException {
            try {
              raw.write(b, off, len);
            } catch (IOException e) {
              throw new IOException("%s cannot be written: %s".formatted(file, e.getMessage()), e);
            }
          }
        });
  }

  /** Returns where the file's bytes are written. */
  public OutputStream bytes() {
    return bytes;
  }

  /** Returns where the file's text is written, instead of bytes. */
  public Writer text() {
    return text;
  }

  /**
   * Ends a complete file: after a crash, too, there is this one or the earlier one.
   *
   * @throws IOException if not all of it could be written; an earlier file stays
   */
  public void complete() throws IOException {
    text.close();
    if (!written.equals(target)) {
      try (FileChannel onDisk = FileChannel.open(written, StandardOpenOption.WRITE)) {
        onDisk.force(true);
      }
      // REPLACE_EXISTING would remove the earlier file first.
      Files.move(written, target, StandardCopyOption.ATOMIC_MOVE);
    }
  }

  /** Removes what was written if the file is not complete. */
  @Override
  public void close() throws IOException {
    try {
      text.close();
    } catch (IOException e) {
      // What is removed need not have been written.
      if (written.equals(target)) {
        throw e;
      }
    } finally {
      if (!written.equals(target)) {
        Files.deleteIfExists(written);
      }
    }
  }
}
