package io.shardtide.search.problem;

import io.shardtide.cost.StepMemory;
import io.shardtide.cost.TablePrediction;
import io.shardtide.option.Option;
import io.shardtide.option.TablePart;
import io.shardtide.plan.Region;
import io.shardtide.plan.Shortfall;
import io.shardtide.plan.Shortfall.TableBytes;
import io.shardtide.workload.ByteSizes;
import io.shardtide.workload.ClusterSpec;
import io.shardtide.workload.ClusterSpecBuilder;
import io.shardtide.workload.ShardKind;
import io.shardtide.workload.ShardScope;
import io.shardtide.workload.TableSpec;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.function.Supplier;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** Explains why a workload does not fit, and names the tables to blame. */
public final class Feasibility {
  /** As many as a person reads; sizes fall off quickly after the first few. */
  private static final int MAX_BLAMED = 20;

  /** Tables that a message names. */
  private static final int MAX_NAMED = 5;

  public static final Comparator<TableSpec> LARGEST_FIRST =
      Comparator.comparingLong((TableSpec t) -> -t.bytes()).thenComparing(TableSpec::name);

  private Feasibility() {}

  /**
   * The smallest part of a table, or of tables that are on the same devices, that is on one device.
   *
   * @param scope where its rows are
   * @param parts how many such parts there are, each at a place of its own; 1 if there may be fewer
   * @param bytes its bytes, without what a step needs beside them
   * @param memory the most bytes that a part of its scope can have
   * @param shown what it is, for people; a function, because nearly all parts fit
   */
  private record SmallestPart(
      TableSpec table,
      ShardScope scope,
      int parts,
      long bytes,
      long memory,
      Supplier<String> shown) {
    static final Comparator<SmallestPart> LARGEST_LAST =
        Comparator.comparingLong(SmallestPart::bytesShort)
            .thenComparing(
                Comparator.comparing((SmallestPart part) -> part.table().name()).reversed());

    /** Returns by how much it is too large; at most 0 if it fits. */
    long bytesShort() {
      return bytes - memory;
    }

    static SmallestPart ofColumns(TableSpec table, PartMemory memory) {
      return new SmallestPart(
          table,
          ShardScope.DEVICE,
          1,
          table.bytes(TableSpec.COLUMN_UNIT),
          memory.most(ShardScope.DEVICE, 1),
          () ->
              "The narrowest shard of table %s, %s columns"
                  .formatted(table.name(), TableSpec.COLUMN_UNIT));
    }

    /** Returns that of a group, or any that fits; null if constraints leave none. */
    static SmallestPart of(TableGroup group, ClusterSpec cluster, PartMemory memory) {
      SmallestPart smallest =
          group.isConstrained() ? null : ofColumns(group.tables().get(0).table(), memory);
      if (smallest != null && smallest.bytesShort() <= 0) {
        return smallest;
      }
      for (Option option : group.options(cluster)) {
        if (option.hasAllRows() && group.allows(option.part(), cluster)) {
          SmallestPart part = of(group, option, cluster, memory);
          boolean isSmaller = smallest == null || part.bytesShort() < smallest.bytesShort();
          smallest = isSmaller ? part : smallest;
        }
      }
      return smallest;
    }

    private static SmallestPart of(
        TableGroup group, Option option, ClusterSpec cluster, PartMemory memory) {
      TableSpec first = group.tables().get(0).table();
      TablePart part = option.part();
      long bytes = 0;
      for (TablePrediction table : group.tables()) {
        bytes += group.of(option, table.table()).part().bytes(table.table(), cluster);
      }
      int parts = part.isOnDevice() ? 1 : part.count(group.columns());
      return new SmallestPart(
          first,
          part.scope(),
          parts,
          bytes,
          memory.most(part.scope(), parts),
          () ->
              part.isOnDevice()
                  ? "The narrowest shard of %s, %s columns"
                      .formatted(describe(group), part.columns())
                  : String.format(
                      Locale.ROOT,
                      "The smallest shard of %s, %,d rows of %d columns%s",
                      describe(group),
                      part.rows(first, cluster),
                      part.columns(),
                      part.cacheShare().isPresent() ? ", with the least cache" : ""));
    }

    private static String describe(TableGroup group) {
      String name = group.name();
      if (group.isShared()) {
        return "table %s with the %s tables on its devices"
            .formatted(name, group.tables().size() - 1);
      }
      return group.isConstrained()
          ? "table %s that its constraints allow".formatted(name)
          : "table " + name;
    }
  }

  /** Returns why no plan of predicted parts can exist, or null if that is not proved. */
  public static Shortfall refutePredicted(List<TablePrediction> tables, ClusterSpec cluster) {
    List<TableSpec> specs = tables.stream().map(TablePrediction::table).toList();
    long stepBytes = StepMemory.ofDevice(specs, cluster);
    Optional<Shortfall> samples = tooManySamples(specs, stepBytes, cluster);
    if (samples.isPresent()) {
      return samples.get();
    }
    ClusterSpec forShards = forShards(stepBytes, cluster);
    PartMemory memory = new PartMemory(forShards);
    List<SmallestPart> parts = new ArrayList<>();
    for (TableGroup group : TableGroup.of(tables)) {
      SmallestPart smallest = SmallestPart.of(group, cluster, memory);
      if (smallest == null) {
        return noKind(group, cluster);
      }
      parts.add(smallest);
    }
    double bytes = 0;
    for (TablePrediction table : tables) {
      bytes += table.table().bytes() * leastCopies(table, cluster);
    }
    List<Shortfall> lacks =
        Stream.of(
                tooTall(parts, memory),
                tooManyBytes(specs, bytes, forShards),
                tooManyBytesInAll(specs, forShards))
            .flatMap(Optional::stream)
            .toList();
    if (lacks.isEmpty()) {
      return null;
    }
    List<TableBytes> blamed =
        lacks.stream()
            .flatMap(lack -> lack.tablesToBlame().stream())
            .distinct()
            .sorted(
                Comparator.comparingLong((TableBytes table) -> -table.bytes())
                    .thenComparing(TableBytes::table))
            .limit(MAX_BLAMED)
            .toList();
    return new Shortfall(
        lacks.stream().mapToLong(Shortfall::bytesShort).max().orElseThrow(),
        true,
        blamed,
        lacks.stream().map(Shortfall::message).collect(Collectors.joining(". ")));
  }

  /** Returns whether no plan of a problem can exist, by proof. */
  public static boolean isRefuted(SearchProblem problem) {
    return refutePredicted(problem.tables(), problem.cluster()) != null;
  }

  /** Returns how often the device memory of all devices holds a table at least. */
  private static double leastCopies(TablePrediction table, ClusterSpec cluster) {
    if (table.table().constraints().isAlwaysCopied()) {
      return cluster.devices();
    }
    return table.towers().keySet().stream()
        .filter(Option::hasAllRows)
        .mapToDouble(option -> option.part().cacheShare().orElse(1))
        .min()
        .orElse(1);
  }

  private static Shortfall noKind(TableGroup group, ClusterSpec cluster) {
    List<TableSpec> tables = group.specs().toList();
    String kinds =
        tables.stream()
            .limit(MAX_NAMED)
            .map(t -> "%s (%s)".formatted(t.name(), allowed(t, cluster)))
            .collect(Collectors.joining(", "));
    return new Shortfall(
        0,
        true,
        blame(tables, tables.size()),
        "No sharding that the constraints allow exists on %s devices, %s on a node%s, for %s"
            .formatted(
                cluster.devices(),
                cluster.devicesPerNode(),
                tables.stream().anyMatch(t -> t.kernel().isInHostMemory())
                        && cluster.hostMemoryBytesPerDevice() == 0
                    ? ", without host memory"
                    : "",
                kinds));
  }

  private static String allowed(TableSpec table, ClusterSpec cluster) {
    boolean leavesNone =
        Stream.of(ShardKind.ROW_WISE, ShardKind.TABLE_ROW_WISE, ShardKind.GRID_SHARD)
            .filter(table.constraints()::allows)
            .anyMatch(kind -> !Region.hasRowsForEach(table.rows(), kind.scope().devices(cluster)));
    String kernel = table.kernel().computeKernel().map(of -> ", kernel " + of.label()).orElse("");
    return table.constraints().describeKinds()
        + kernel
        + (leavesNone
            ? String.format(
                Locale.ROOT, "; too few rows for a block on each device: %,d", table.rows())
            : "");
  }

  /** Returns why what a step needs without any shards does not fit; empty if it does. */
  private static Optional<Shortfall> tooManySamples(
      List<TableSpec> tables, long stepBytes, ClusterSpec cluster) {
    long usable = cluster.leastUsableBytes();
    return stepBytes < usable
        ? Optional.empty()
        : Optional.of(
            new Shortfall(
                stepBytes - usable + 1,
                true,
                blame(tables, tables.size()),
                "Without any shards, a device needs %s for the batches of a step and the outputs of its samples, and has %s. Maybe use fewer samples in a batch"
                    .formatted(ByteSizes.describe(stepBytes), ByteSizes.describe(usable))));
  }

  /** Returns a cluster with the memory that a step leaves to shards. */
  private static ClusterSpec forShards(long stepBytes, ClusterSpec cluster) {
    return stepBytes == 0
        ? cluster
        : ClusterSpecBuilder.builder(cluster)
            .reservedMemoryBytesPerDevice(cluster.reservedMemoryBytesPerDevice() + stepBytes)
            .build();
  }

  private static Optional<Shortfall> tooTall(List<SmallestPart> parts, PartMemory memory) {
    List<SmallestPart> tooTall = parts.stream().filter(part -> part.bytesShort() > 0).toList();
    return tooTall.stream()
        .max(SmallestPart.LARGEST_LAST)
        .map(
            worst ->
                new Shortfall(
                    worst.bytesShort(),
                    true,
                    blame(tooTall.stream().map(SmallestPart::table).toList(), tooTall.size()),
                    "%s, needs %s, and %s has %s. Maybe use fewer rows or fewer bytes per element"
                        .formatted(
                            worst.shown().get(),
                            ByteSizes.describe(worst.bytes()),
                            device(worst, memory),
                            ByteSizes.describe(worst.memory()))));
  }

  /** Returns which device's memory limits a part, for people. */
  private static String device(SmallestPart part, PartMemory memory) {
    if (memory.isEqual()) {
      return "a device";
    }
    int parts = part.parts();
    return switch (part.scope()) {
      case DEVICE ->
          parts == 1
              ? "the device with the most memory"
              : "the smallest of the %s devices with the most memory".formatted(parts);
      case NODE ->
          parts == 1
              ? "the smallest device of the node with the most memory"
              : "the smallest device of the %s nodes with the most memory".formatted(parts);
      case CLUSTER, COPIES -> "the device with the least memory";
    };
  }

  private static Optional<Shortfall> tooManyBytes(
      List<TableSpec> tables, double needed, ClusterSpec cluster) {
    return shortfall(
        tables,
        needed - cluster.usableBytes(),
        "The tables need %s, and %s devices of %s have %s"
            .formatted(
                ByteSizes.describe(whole(needed)),
                cluster.devices(),
                cluster.describeUsableMemory(),
                ByteSizes.describe(cluster.usableBytes())));
  }

  /** Of tables with caches: device memory and host memory together. */
  private static Optional<Shortfall> tooManyBytesInAll(
      List<TableSpec> tables, ClusterSpec cluster) {
    if (cluster.hostMemoryBytesPerDevice() == 0) {
      return Optional.empty();
    }
    double bytes = tables.stream().mapToDouble(TableSpec::bytes).sum();
    double available = (double) cluster.allBytes();
    return shortfall(
        tables,
        bytes - available,
        "The tables need %s, and %s devices of %s, with %s of host memory each, have %s"
            .formatted(
                ByteSizes.describe(whole(bytes)),
                cluster.devices(),
                cluster.describeUsableMemory(),
                ByteSizes.describe(cluster.hostMemoryBytesPerDevice()),
                ByteSizes.describe(whole(available))));
  }

  private static Optional<Shortfall> shortfall(
      List<TableSpec> tables, double bytesShort, String message) {
    return bytesShort > 0
        ? Optional.of(
            new Shortfall(
                whole(bytesShort),
                true,
                blame(tables, countToFit(tables, whole(bytesShort))),
                message))
        : Optional.empty();
  }

  /** Returns bytes as a whole number, 2^63 - 1 at most. */
  private static long whole(double bytes) {
    return (long) Math.ceil(bytes);
  }

  /** Returns the result of a search that left so many bytes without a device. */
  public static Shortfall notFound(
      List<TableSpec> tables, ClusterSpec cluster, long unplacedBytes) {
    return new Shortfall(
        unplacedBytes,
        false,
        blame(tables, countToFit(tables, unplacedBytes)),
        ("No placement was found: the best attempt left %s without a device of the %s with %s each."
                + " That none exists is not proved")
            .formatted(
                ByteSizes.describe(unplacedBytes),
                cluster.devices(),
                cluster.describeUsableMemory()));
  }

  /** Returns how many of the largest tables together have the missing bytes. */
  private static int countToFit(List<TableSpec> tables, long bytesShort) {
    long freed = 0;
    int count = 0;
    for (TableSpec table : tables.stream().sorted(LARGEST_FIRST).toList()) {
      if (freed >= bytesShort) {
        break;
      }
      freed += table.bytes();
      count++;
    }
    return count;
  }

  private static List<TableBytes> blame(List<TableSpec> tables, int count) {
    List<TableBytes> blamed = new ArrayList<>();
    tables.stream()
        .sorted(LARGEST_FIRST)
        .limit(Math.min(count, MAX_BLAMED))
        .forEach(t -> blamed.add(new TableBytes(t.name(), t.bytes())));
    return blamed;
  }
}
