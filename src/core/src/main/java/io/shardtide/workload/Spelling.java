package io.shardtide.workload;

import java.util.Collection;
import java.util.Comparator;
import java.util.Optional;

/** Suggests corrections of misspelt words. */
public final class Spelling {
  private Spelling() {}

  /** Returns the nearest word, if at most a third of its letters differ. */
  public static Optional<String> nearest(String written, Collection<String> words) {
    return words.stream()
        .filter(word -> distance(written, word) <= Math.max(1, word.length() / 3))
        .min(
            Comparator.<String>comparingInt(word -> distance(written, word))
                .thenComparing(Comparator.naturalOrder()));
  }

  /**
   * Returns how many letters to insert, leave out, replace, or swap with their neighbour (optimal
   * string alignment distance).
   */
  static int distance(String a, String b) {
    int[][] d = new int[a.length() + 1][b.length() + 1];
    for (int i = 0; i <= a.length(); i++) {
      for (int j = 0; j <= b.length(); j++) {
        if (i == 0 || j == 0) {
          d[i][j] = i + j;
          continue;
        }
        int replaced = d[i - 1][j - 1] + (a.charAt(i - 1) == b.charAt(j - 1) ? 0 : 1);
        d[i][j] = Math.min(replaced, 1 + Math.min(d[i - 1][j], d[i][j - 1]));
        if (i > 1
            && j > 1
            && a.charAt(i - 1) == b.charAt(j - 2)
            && a.charAt(i - 2) == b.charAt(j - 1)) {
          d[i][j] = Math.min(d[i][j], d[i - 2][j - 2] + 1);
        }
      }
    }
    return d[a.length()][b.length()];
  }
}
