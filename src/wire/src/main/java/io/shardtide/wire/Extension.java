package io.shardtide.wire;

import java.util.Arrays;
import java.util.Collection;
import java.util.Locale;
import java.util.stream.Collectors;

/**
 * An optional part of the planner. The setting {@code NAME.enabled} turns it on; its topologies run
 * and its topics exist only then.
 */
public enum Extension {
  /** Allocates pools of devices to workloads. */
  POOLS,
  /** Forecasts how many ids hashed tables have, and gives tables other capacities. */
  GROWTH;

  /**
   * Returns the options of {@code ./shardtide rights} that print the rights for some extensions,
   * such as {@code " --pools"}: each after a space, in the order of this type; empty if there are
   * none.
   */
  public static String options(Collection<Extension> extensions) {
    return Arrays.stream(values())
        .filter(extensions::contains)
        .map(extension -> " --" + extension)
        .collect(Collectors.joining());
  }

  /** Returns its name in settings and options: in lower case. */
  @Override
  public String toString() {
    return name().toLowerCase(Locale.ROOT);
  }
}
