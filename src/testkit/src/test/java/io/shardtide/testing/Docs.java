package io.shardtide.testing;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Collectors;

/** What the documentation shows, so that a test can run just that. */
public final class Docs {
  private static final String INDENT = "    ";

  private Docs() {}

  /**
   * Returns the first block of code after a heading, without its indentation.
   *
   * @param page the file
   * @param heading the heading's whole line
   */
  public static String block(Path page, String heading) throws IOException {
    List<String> lines = Files.readAllLines(page);
    int start = lines.indexOf(heading);
    if (start < 0) {
      throw new AssertionError("%s has no line \"%s\"".formatted(page, heading));
    }
    String block =
        lines.subList(start, lines.size()).stream()
            .dropWhile(line -> !line.startsWith(INDENT))
            .takeWhile(line -> line.startsWith(INDENT))
            .map(line -> line.substring(INDENT.length()) + "\n")
            .collect(Collectors.joining());
    if (block.isEmpty()) {
      throw new AssertionError("No block of code after \"%s\" in %s".formatted(heading, page));
    }
    return block;
  }
}
