package io.shardtide.replay;

import java.util.Comparator;

/** A generation of a workload. */
record GenerationKey(String workloadId, long generation) implements Comparable<GenerationKey> {
  private static final Comparator<GenerationKey> ORDER =
      Comparator.comparing(GenerationKey::workloadId).thenComparing(GenerationKey::generation);

  @Override
  public int compareTo(GenerationKey other) {
    return ORDER.compare(this, other);
  }
}
