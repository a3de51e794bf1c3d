package io.shardtide.cli;

import java.util.List;
import picocli.CommandLine.Help.Ansi;

/**
 * A bar of a table.
 *
 * @param width its characters
 * @param whole what they stand for
 * @param parts its parts, from the left
 */
record Bar(int width, double whole, List<Part> parts) {
  /**
   * A part of a bar.
   *
   * @param style picocli's name of its style
   */
  record Part(String style, String glyph, double size) {}

  String show(Ansi ansi) {
    StringBuilder bar = new StringBuilder();
    double sum = 0;
    int drawn = 0;
    for (Part part : parts) {
      sum += part.size();
      int end = whole > 0 ? (int) Math.min(width, Math.round(width * sum / whole)) : 0;
      if (end > drawn) {
        String glyphs = part.glyph().repeat(end - drawn);
        bar.append(ansi.string("@|%s %s|@".formatted(part.style(), glyphs)));
        drawn = end;
      }
    }
    return bar.append(" ".repeat(width - drawn)).toString();
  }
}
