package io.shardtide.cli;

import com.google.errorprone.annotations.FormatMethod;
import io.shardtide.plan.CacheMisses;
import io.shardtide.plan.Explanation;
import io.shardtide.plan.HotRows;
import io.shardtide.plan.MoveStep;
import io.shardtide.plan.MoveWave;
import io.shardtide.plan.MoveWaves;
import io.shardtide.plan.PlannedKernel;
import io.shardtide.plan.Region;
import io.shardtide.plan.Replication;
import io.shardtide.plan.Shard;
import io.shardtide.plan.ShardingPlan;
import io.shardtide.plan.Transfer;
import io.shardtide.plan.WaveSettings;
import io.shardtide.workload.ComputeKernel;
import io.shardtide.workload.ReplicaGroups;
import io.shardtide.workload.ShardKind;
import io.shardtide.workload.TableKernel;
import io.shardtide.workload.UsableMemory;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.EnumMap;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.function.Function;
import java.util.function.Predicate;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

/** Describes the shards, the moves and the explanations of a plan. */
final class ShardTexts {
  /** Tables that a text names. */
  private static final int MAX_NAMED = 5;

  /** Shards by table, the tables by name. */
  private final Map<String, List<Shard>> ofTable = new TreeMap<>();

  private final Map<String, CacheMisses> cacheMisses = new HashMap<>();

  private final ReplicaGroups groups;

  ShardTexts(ShardingPlan plan) {
    groups = plan.groups();
    plan.prediction().cacheMisses().forEach(of -> cacheMisses.put(of.table(), of));
    for (Shard shard : plan.shards()) {
      ofTable.computeIfAbsent(shard.table(), name -> new ArrayList<>()).add(shard);
    }
  }

  /**
   * Returns in how many waves the moves of a plan can be made while training goes on, and what they
   * cost; see {@link MoveWaves}.
   *
   * @param memory memory of each device for shards, if known
   */
  static String waves(ShardingPlan plan, Optional<UsableMemory> memory) {
    MoveWaves waves = MoveWaves.of(plan, new WaveSettings(memory));
    long stopped = waves.waves().stream().filter(MoveWave::stopsTraining).count();
    return text(
        "in %,d %s with %.0f %% of the links%s: %s of transfers, steps %.2f -> %.2f ms meanwhile%s; training loses %s",
        waves.waves().size(),
        waves.waves().size() == 1 ? "wave" : "waves",
        100 * WaveSettings.DEFAULT_LINK_SHARE,
        memory.isEmpty() ? ", without spare memory" : "",
        duration(waves.durationMs()),
        waves.stepMs(),
        waves.slowedStepMs(),
        stopped == 0 ? "" : text(", none in %,d of the waves", stopped),
        duration(waves.lostMs()));
  }

  private static String duration(double ms) {
    return ms < 1_000 ? text("%.0f ms", ms) : text("%,.1f s", ms / 1_000);
  }

  /** Returns how many tables are of each kind: {@code 30 table_wise, 2 row_wise}, say. */
  String kinds() {
    Map<ShardKind, Integer> counts = new EnumMap<>(ShardKind.class);
    ofTable.values().forEach(shards -> counts.merge(kind(shards), 1, Integer::sum));
    long cutByUse = ofTable.values().stream().filter(s -> HotRows.of(s).isPresent()).count();
    return counts.isEmpty()
        ? "none"
        : counts.entrySet().stream()
                .map(count -> text("%,d %s", count.getValue(), count.getKey().label()))
                .collect(Collectors.joining(", "))
            + (cutByUse == 0 ? "" : text("; %,d with hot rows", cutByUse));
  }

  private static ShardKind kind(List<Shard> shards) {
    return HotRows.others(shards).get(0).kind();
  }

  /** A row for each range of columns of a table; the first one names the table. */
  private record Placed(String table, String sharded, Region region, String rows, String devices) {}

  /** Returns a table of where tables are, a row for each range of columns; whole tables last. */
  Table<?> layout(Predicate<String> isShown) {
    return new Table<>(
            ofTable.values().stream()
                .filter(shards -> isShown.test(shards.get(0).table()))
                .sorted(
                    Comparator.comparing(
                        shards -> shards.size() == 1 && kind(shards) == ShardKind.TABLE_WISE))
                .flatMap(shards -> layout(shards).stream())
                .toList())
        .left("table", Placed::table)
        .left("sharded", Placed::sharded)
        .right("columns", placed -> columns(placed.region()))
        .right("rows", Placed::rows)
        .left("devices", Placed::devices);
  }

  /** Returns the devices of shards: {@code 0 to 7}, say, or each if they are not in a row. */
  private static String devices(List<Shard> shards) {
    List<Integer> devices = shards.stream().map(Shard::device).toList();
    int first = devices.get(0);
    List<Integer> inARow = IntStream.range(first, first + devices.size()).boxed().toList();
    return devices.size() > 1 && devices.equals(inARow)
        ? text("%d to %d", first, first + devices.size() - 1)
        : devices.stream().map(device -> text("%d", device)).collect(Collectors.joining(", "));
  }

  private static List<Placed> layout(List<Shard> shards) {
    List<Placed> out = new ArrayList<>();
    HotRows.others(shards).stream()
        .collect(Collectors.groupingBy(Shard::columnOffset, TreeMap::new, Collectors.toList()))
        .values()
        .forEach(
            parts -> {
              Shard first = parts.get(0);
              out.add(
                  new Placed(
                      out.isEmpty() ? first.table() : "",
                      out.isEmpty() ? first.kind().label() : "",
                      first.region(),
                      text("%,d", first.rows()) + (parts.size() == 1 ? "" : " each"),
                      first.isCopied() ? "every device" : devices(parts)));
            });
    HotRows.of(shards)
        .ifPresent(
            rows ->
                out.add(
                    new Placed(
                        "",
                        "hot rows",
                        shards.get(0).region(),
                        text("%,d", rows),
                        "every device")));
    return out;
  }

  private static String columns(Region region) {
    return text("%d to %d", region.columnOffset(), region.columnEnd() - 1);
  }

  /** Returns what moves: its columns, and its rows unless it has all of them. */
  String part(Transfer move) {
    Region region = move.region();
    long rows =
        ofTable.getOrDefault(move.table(), List.of()).stream()
            .mapToLong(shard -> shard.region().rowEnd())
            .max()
            .orElse(0);
    return "columns "
        + columns(region)
        + (region.rowOffset() == 0 && region.rowEnd() >= rows
            ? ""
            : text(", rows %,d to %,d", region.rowOffset(), region.rowEnd() - 1));
  }

  /** Returns the replica groups of a plan, and what keeping them equal takes; empty of one. */
  static Optional<String> replication(ShardingPlan plan) {
    Replication replication = plan.replication();
    return Optional.of(replication.groups())
        .filter(ReplicaGroups::areSeveral)
        .map(
            groups ->
                text(
                    "%s of %d devices, synchronized every %s in %.3f ms",
                    groups.describe(),
                    plan.prediction().deviceCosts().size(),
                    replication.synchronizationSteps() == 1
                        ? "step"
                        : text("%,d steps", replication.synchronizationSteps()),
                    replication.synchronizationMs()));
  }

  /** Returns how many shards move, and in how many parts if they come from several devices. */
  static String moved(ShardingPlan plan) {
    int shards = plan.movedShards();
    int parts = plan.transition().moves().size();
    return text("%,d %s", shards, shards == 1 ? "shard" : "shards")
        + (parts == shards ? "" : text(" in %,d parts", parts));
  }

  /** Returns the devices of a step of a move. */
  static String route(Transfer move, MoveStep.Stage stage) {
    String from =
        stage == MoveStep.Stage.FROM_HOST ? "host" : device(move.fromDevice(), "any copy");
    String to =
        stage == MoveStep.Stage.TO_HOST ? "host" : device(move.toDevice(), "every other device");
    return from + " -> " + to;
  }

  private static String device(int device, String every) {
    return device == Shard.EVERY_DEVICE ? every : "device " + device;
  }

  /** Returns the decision that an explanation is of. */
  String action(Explanation explanation) {
    return switch (explanation.kind()) {
      case SPLIT -> "cut";
      case CACHE ->
          ofTable.containsKey(explanation.table())
              ? cache(HotRows.others(ofTable.get(explanation.table())).get(0))
              : "cache";
      case MOVE -> "moved %d -> %d".formatted(explanation.fromDevice(), explanation.toDevice());
      case KIND ->
          ofTable.containsKey(explanation.table())
              ? kind(ofTable.get(explanation.table())).label()
              : "kind";
      case HOT_ROWS ->
          text(
              "copies of %,d rows",
              HotRows.of(ofTable.getOrDefault(explanation.table(), List.of())).orElse(0));
      case GROUPS -> groups.describe();
    };
  }

  /** Returns how much of a cached shard is in device memory, and how many lookups that misses. */
  private String cache(Shard shard) {
    if (shard.cacheShare().orElse(1) == TableKernel.NO_CACHE) {
      return "in host memory";
    }
    String cache = text("cache of %.3g %% of the rows", 100 * shard.cacheShare().orElse(1));
    CacheMisses misses = cacheMisses.get(shard.table());
    if (misses == null) {
      return cache;
    }
    String missed = text("%s, %.3g %% of the lookups miss", cache, 100 * misses.lookupShare());
    if (misses.leastShare().isPresent()) {
      missed += text("; below its least of %.3g %%", 100 * misses.leastShare().getAsDouble());
    }
    return misses.reservation().isEmpty() ? missed : missed + "; " + misses.reservation();
  }

  /** Returns the codecs of a plan, and what each saves; empty without any. */
  static Optional<String> codecs(ShardingPlan plan) {
    return plan.codecs().stream()
        .map(
            of ->
                text(
                    "%s %s %s (saves %.3f ms)",
                    of.scope().label(), of.direction().label(), of.codec().name(), of.savedMs()))
        .reduce((first, second) -> first + ", " + second)
        .map(all -> all + "; none elsewhere");
  }

  /** Returns the deduplicated tables of a plan, and what that saves; empty without any. */
  static Optional<String> deduplications(ShardingPlan plan) {
    return named(
        plan.prediction().insight().deduplications(),
        of ->
            text(
                "%s (%.3g %% of a rank's ids are distinct, saves %.3f ms)",
                of.table(), 100 * of.distinctShare(), of.savedMs()));
  }

  /** Returns the hot devices of a plan's split tables; empty without any. */
  static Optional<String> hotOwners(ShardingPlan plan) {
    return named(
        plan.prediction().hotOwners(),
        of ->
            text(
                "%s on device %d, %.3g times the mean lookups",
                of.table(), of.device(), of.factor()));
  }

  /** Returns the first of some texts, and how many there are beside them; empty without any. */
  private static <T> Optional<String> named(List<T> all, Function<T, String> text) {
    int others = all.size() - MAX_NAMED;
    return all.stream()
        .limit(MAX_NAMED)
        .map(text)
        .reduce((first, second) -> first + "; " + second)
        .map(some -> others > 0 ? text("%s; and %,d more tables", some, others) : some);
  }

  /** Returns what publishers decided about kernels of tables; empty without any. */
  static Optional<String> kernels(ShardingPlan plan) {
    return named(plan.kernels(), ShardTexts::kernel);
  }

  private static String kernel(PlannedKernel planned) {
    TableKernel kernel = planned.kernel();
    List<String> parts = new ArrayList<>();
    kernel.computeKernel().map(ComputeKernel::label).ifPresent(parts::add);
    kernel.cacheAlgorithm().ifPresent(algorithm -> parts.add("cache " + algorithm));
    if (planned.enforceHbm()) {
      parts.add("state in device memory");
    }
    kernel.outputType().ifPresent(type -> parts.add("outputs " + type));
    kernel
        .stochasticRounding()
        .ifPresent(is -> parts.add(is ? "stochastic rounding" : "no stochastic rounding"));
    if (parts.isEmpty()) {
      // Nothing else is left to decide.
      parts.add("cache of a fixed size");
    }
    return planned.table() + " " + String.join(", ", parts);
  }

  @FormatMethod
  private static String text(String format, Object... args) {
    return String.format(Locale.ROOT, format, args);
  }
}
