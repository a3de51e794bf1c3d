package io.shardtide.cli;

import io.shardtide.client.PoolReader.AllocatedPool;
import io.shardtide.pool.Allocation;
import io.shardtide.pool.AllocationChange;
import io.shardtide.pool.AllocationQuality;
import io.shardtide.pool.Claim;
import io.shardtide.pool.Pool;
import io.shardtide.pool.PoolNode;
import io.shardtide.pool.WorkloadAllocation;
import io.shardtide.workload.ByteSizes;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.function.Predicate;

/** A pool and its latest allocation, as text for people. */
final class AllocationView {
  private static final int WIDTH = 100;

  /** Nodes and workloads that one sentence or answer lists. */
  private static final int LISTED = 8;

  private static final String FREE = "free";

  private final AllocatedPool shown;
  private final Pool pool;
  private final Predicate<String> isSimulated;

  /**
   * @param shown a pool that was set
   * @param isSimulated whether a curve, by its id, has simulated costs
   */
  AllocationView(AllocatedPool shown, Predicate<String> isSimulated) {
    this.shown = shown;
    this.isSimulated = isSimulated;
    pool = shown.state().pool().orElseThrow();
  }

  /** Returns all of it. */
  String show() {
    TextLines text = new TextLines();
    text.add("%s", heading());
    text.add("");
    text.add(nodes());
    if (!shown.state().claims().isEmpty()) {
      text.add("");
      text.add(workloads());
    }
    shown
        .allocation()
        .ifPresent(
            allocation -> {
              text.add("");
              allocation.workloads().forEach(w -> addWrapped(text, sentence(allocation, w)));
              addWrapped(text, quality(allocation));
            });
    pending().ifPresent(line -> addWrapped(text, line));
    return text.toString();
  }

  private String heading() {
    return "pool %s, generation %d: %d nodes of %d devices, %s each, hardware %s"
        .formatted(
            shown.state().id(),
            shown.state().generation(),
            pool.nodes().size(),
            pool.devicesPerNode(),
            ByteSizes.describe(pool.memoryBytesPerDevice()),
            pool.hardware());
  }

  private TextTable nodes() {
    SortedMap<String, String> holders =
        shown.allocation().map(Allocation::holders).orElseGet(TreeMap::new);
    TextTable table = new TextTable("node", "rack", "workload");
    for (PoolNode node : pool.nodes().values()) {
      String holder = holders.remove(node.name());
      table.add(node.name(), node.rack(), holder == null ? FREE : holder);
    }
    // The latest allocation does not know of the loss yet.
    holders.forEach((node, holder) -> table.add(node, "", holder + " (node lost)"));
    return table;
  }

  private TextTable workloads() {
    TextTable table =
        new TextTable(
            "workload",
            " devices",
            " nodes",
            " fair",
            "claim",
            " weight",
            " priority",
            " samples/s");
    for (Claim claim : shown.state().claims().values()) {
      Optional<WorkloadAllocation> has =
          shown.allocation().flatMap(allocation -> allocation.of(claim.workloadId()));
      table.add(
          claim.workloadId(),
          has.map(w -> "%,d".formatted(w.devices())).orElse("-"),
          has.map(w -> "%,d".formatted(w.nodes().size())).orElse("-"),
          has.map(w -> String.format(Locale.ROOT, "%.1f", w.fairNodes())).orElse("-"),
          "%d to %d".formatted(claim.leastDevices(), claim.mostDevices()),
          number(claim.weight()),
          Integer.toString(claim.priority()),
          has.map(w -> throughput(shown.allocation().get(), w)).orElse("-"));
    }
    return table;
  }

  private String throughput(Allocation allocation, WorkloadAllocation workload) {
    if (workload.samplesPerSecond() == 0) {
      return "-";
    }
    return "%,.0f%s"
        .formatted(
            workload.samplesPerSecond(),
            isSimulated(allocation, workload.workloadId()) ? " simulated" : "");
  }

  private boolean isSimulated(Allocation allocation, String workloadId) {
    String curve = allocation.curveIds().get(workloadId);
    return curve != null && isSimulated.test(curve);
  }

  /** Says what a workload has and why. */
  private String sentence(Allocation allocation, WorkloadAllocation workload) {
    String has =
        workload.nodes().isEmpty()
            ? "no devices"
            : "%s on %s".formatted(count(workload.devices(), "device"), list(workload.nodes()));
    return "%s: %s; %s%s"
        .formatted(
            workload.workloadId(),
            has,
            workload.reason(),
            isSimulated(allocation, workload.workloadId()) ? " (simulated costs)" : "");
  }

  /** Returns names in one text: the first ones, and how many more there are. */
  static String list(List<String> names) {
    String first = String.join(", ", names.subList(0, Math.min(LISTED, names.size())));
    return names.size() <= LISTED
        ? first
        : "%s and %,d more".formatted(first, names.size() - LISTED);
  }

  private String quality(Allocation allocation) {
    AllocationQuality quality = allocation.quality();
    boolean simulated =
        allocation.workloads().stream().anyMatch(w -> isSimulated(allocation, w.workloadId()));
    return String.format(
        Locale.ROOT,
        "Weighted throughput: %,.0f samples/s%s, %s; %.1f%% of the pool is in other hands than in"
            + " the fair allocation; %s changed nodes.",
        quality.weightedThroughput(),
        simulated ? " (simulated)" : "",
        quality.gap() == 0
            ? "optimal"
            : String.format(Locale.ROOT, "at most %.2f%% below the optimum", 100 * quality.gap()),
        100 * quality.fairnessLoss(),
        count(quality.adjusted(), "running workload"));
  }

  private Optional<String> pending() {
    long allocated = shown.allocation().map(Allocation::generation).orElse(0L);
    long later = shown.state().generation() - allocated;
    return later <= 0
        ? Optional.empty()
        : Optional.of("%s not allocated yet.".formatted(count(later, "later event")));
  }

  /**
   * Says what an accepted event led to: the nodes that changed hands, and what a claim cannot have.
   *
   * @param workloadId the workload whose claim the event set or withdrew; empty if none
   */
  String answer(Optional<String> workloadId) {
    TextLines text = new TextLines();
    Optional<Claim> claim = workloadId.map(id -> shown.state().claims().get(id));
    claim.flatMap(this::claimNote).ifPresent(line -> addWrapped(text, line));
    if (workloadId.isPresent() && claim.isEmpty()) {
      addWrapped(text, "%s has no claim any more.".formatted(workloadId.get()));
    }
    shown
        .allocation()
        .ifPresent(
            allocation -> {
              List<String> sentences = new ArrayList<>();
              for (WorkloadAllocation workload : allocation.workloads()) {
                boolean isOf = workloadId.equals(Optional.of(workload.workloadId()));
                if (isOf) {
                  sentences.add(0, sentence(allocation, workload));
                } else if (workload.change() != AllocationChange.KEPT
                    && workload.change() != AllocationChange.WAITS) {
                  sentences.add(sentence(allocation, workload));
                }
              }
              sentences.stream().limit(LISTED).forEach(line -> addWrapped(text, line));
              if (sentences.size() > LISTED) {
                text.add("... and %,d more workloads changed", sentences.size() - LISTED);
              } else if (sentences.isEmpty()) {
                text.add("No workload has other nodes than before.");
              }
            });
    return text.toString();
  }

  private Optional<String> claimNote(Claim claim) {
    return claim.mostDevices() <= pool.devices()
        ? Optional.empty()
        : Optional.of(
            "The claim is above the pool: %s at most, and pool %s has %d. The rest counts once nodes are added."
                .formatted(
                    count(claim.mostDevices(), "device"), shown.state().id(), pool.devices()));
  }

  /** Returns a text in lines of the terminal's width. */
  static String wrapped(String sentence) {
    TextLines text = new TextLines();
    addWrapped(text, sentence);
    return text.toString();
  }

  private static void addWrapped(TextLines text, String sentence) {
    TextLines.wrap(sentence, WIDTH).forEach(line -> text.add("%s", line));
  }

  private static String count(long number, String what) {
    return "%,d %s%s".formatted(number, what, number == 1 ? "" : "s");
  }

  private static String number(double value) {
    return value == Math.rint(value) ? "%.0f".formatted(value) : Double.toString(value);
  }
}
