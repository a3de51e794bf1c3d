package io.shardtide.replay;

import io.shardtide.pool.Claim;
import io.shardtide.pool.Pool;
import io.shardtide.pool.PoolChange;
import io.shardtide.pool.PoolNode;
import io.shardtide.pool.PoolState;
import io.shardtide.pool.PoolUpdate;
import io.shardtide.workload.ByteSizes;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.TreeSet;

/** Describes the changes of a pool's event for people. */
final class PoolUpdateTexts {
  private PoolUpdateTexts() {}

  /**
   * Returns a line for each change.
   *
   * @param before the pool before the event
   */
  static List<String> describe(PoolState before, PoolChange event) {
    List<String> lines = new ArrayList<>();
    for (PoolUpdate update : event.updates()) {
      if (update instanceof PoolUpdate.PoolSet set) {
        lines.add(set(before.pool(), set.pool()));
      } else if (update instanceof PoolUpdate.PoolNodeAdded added) {
        lines.add("node %s is added%s".formatted(added.node().name(), rack(added.node())));
      } else if (update instanceof PoolUpdate.PoolNodeLost lost) {
        lines.add("node %s is lost".formatted(lost.node()));
      } else if (update instanceof PoolUpdate.ClaimSet set) {
        lines.add(claimed(Optional.ofNullable(before.claims().get(name(set))), set.claim()));
      } else if (update instanceof PoolUpdate.ClaimWithdrawn withdrawn) {
        lines.add("%s withdraws its claim".formatted(withdrawn.workloadId()));
      }
    }
    return lines;
  }

  private static String name(PoolUpdate.ClaimSet set) {
    return set.claim().workloadId();
  }

  private static String rack(PoolNode node) {
    return node.rack().isEmpty() ? "" : ", in rack " + node.rack();
  }

  private static String set(Optional<Pool> before, Pool now) {
    String text = "the pool is set: " + describe(now);
    if (before.isEmpty()) {
      return text;
    }
    TreeSet<String> lost = new TreeSet<>(before.get().nodes().keySet());
    lost.removeAll(now.nodes().keySet());
    TreeSet<String> added = new TreeSet<>(now.nodes().keySet());
    added.removeAll(before.get().nodes().keySet());
    return text
        + (added.isEmpty() ? "" : "; added %s".formatted(String.join(", ", added)))
        + (lost.isEmpty() ? "" : "; lost %s".formatted(String.join(", ", lost)));
  }

  private static String describe(Pool pool) {
    return "%d nodes of %d devices of %s, %s of memory each%s"
        .formatted(
            pool.nodes().size(),
            pool.devicesPerNode(),
            pool.hardware(),
            ByteSizes.describe(pool.memoryBytesPerDevice()),
            pool.hostMemoryBytesPerDevice() == 0
                ? ""
                : " and %s of host memory"
                    .formatted(ByteSizes.describe(pool.hostMemoryBytesPerDevice())));
  }

  private static String claimed(Optional<Claim> before, Claim now) {
    return "%s claims %s%s"
        .formatted(
            now.workloadId(),
            describe(now),
            before.map(b -> b.equals(now) ? ", as before" : "; before: " + describe(b)).orElse(""));
  }

  private static String describe(Claim claim) {
    return String.format(
        Locale.ROOT,
        "%d to %d devices, weight %s, priority %d",
        claim.leastDevices(),
        claim.mostDevices(),
        claim.weight(),
        claim.priority());
  }
}
