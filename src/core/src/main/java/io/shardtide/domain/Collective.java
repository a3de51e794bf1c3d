package io.shardtide.domain;

import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Optional;

/** A collective operation between devices, with NCCL's and PyTorch's names. */
public enum Collective {
  /** Each device sends a part of its own to each other one. */
  ALL_TO_ALL,
  /** Sums a buffer over devices and leaves a part of the sum on each. */
  REDUCE_SCATTER,
  /** Leaves on each device the parts of all. */
  ALL_GATHER,
  /** Leaves on each device the sum of a buffer over all. */
  ALL_REDUCE;

  /** Returns the name in sample files: {@code all_to_all}, say. */
  public String fileName() {
    return name().toLowerCase(Locale.ROOT);
  }

  /** Returns the collective of a name in sample files, if there is one. */
  public static Optional<Collective> ofFileName(String name) {
    return Arrays.stream(values()).filter(c -> c.fileName().equals(name)).findFirst();
  }

  /** Returns all names in sample files. */
  public static List<String> fileNames() {
    return Arrays.stream(values()).map(Collective::fileName).toList();
  }
}
