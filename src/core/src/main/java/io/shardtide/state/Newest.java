package io.shardtide.state;

import java.util.ArrayList;
import java.util.List;

/** Lists of which only the newest items are kept. */
public final class Newest {
  private Newest() {}

  /**
   * Returns a list with another item, which is in it once.
   *
   * @param before the oldest first
   * @param next the newest
   * @param most how many are kept
   */
  public static <T> List<T> with(List<T> before, T next, int most) {
    List<T> all = new ArrayList<>(before);
    all.remove(next);
    all.add(next);
    return all.subList(Math.max(0, all.size() - most), all.size());
  }
}
