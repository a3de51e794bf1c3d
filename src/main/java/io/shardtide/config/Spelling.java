package io.shardtide.config;

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

  /** Returns the Levenshtein distance. */
  static int distance(String a, String b) {
    int[] row = new int[b.length() + 1];
    for (int j = 0; j <= b.length(); j++) {
      row[j] = j;
    }
    for (int i = 1; i <= a.length(); i++) {
      int diagonal = row[0];
      row[0] = i;
      for (int j = 1; j <= b.length(); j++) {
        int replaced = diagonal + (a.charAt(i - 1) == b.charAt(j - 1) ? 0 : 1);
        diagonal = row[j];
        row[j] = Math.min(replaced, 1 + Math.min(row[j], row[j - 1]));
      }
    }
    return row[b.length()];
  }
}
