package io.shardtide.option;

import java.util.List;

/** All things that a plan decides of a table: nothing else knows which there are. */
public final class Freedoms {
  /** How many rows of parts are in device memory. */
  public static final Freedom CACHES = new Caches();

  /** How many of the most used rows each device has a copy of. */
  public static final Freedom HOT_ROWS = new HotRowCopies();

  /** Each comes after those whose options it adds to. */
  static final List<Freedom> ALL =
      List.of(new Columns(), new Rows(), new Copies(), CACHES, new RowBlocks(), HOT_ROWS);

  private Freedoms() {}
}
