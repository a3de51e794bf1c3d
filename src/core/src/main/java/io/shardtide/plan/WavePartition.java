package io.shardtide.plan;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.Deque;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.IntToLongFunction;
import java.util.stream.IntStream;

/**
 * Divides the moves of a plan into waves, as {@link MoveWaves} says. Single-use.
 *
 * <p>Why no device is above its memory: a device holds at most what it will hold and what has yet
 * to leave it. If that fits, anything may arrive. Otherwise a move arrives only after all that
 * leaves the device before it in the plan's order. What has arrived is then, whatever else happened
 * in between, part of what the order had let arrive by the last of these moves, and no more was
 * left on the device than the order had left.
 */
final class WavePartition {
  private static final double BYTES_PER_MS = 1e6;

  private final ShardingPlan plan;
  private final List<Transfer> moves;
  private final List<MoveStep> order;
  private final SearchSettings prices;
  private final WaveSettings settings;
  private final PlanShards placed;
  private final int ranks;
  private final IntToLongFunction usableBytes;
  private final double slowedStepMs;

  /** The moves of each table that has yet to move, the largest gain per byte first. */
  private final Map<String, List<Integer>> open = new LinkedHashMap<>();

  /** Where in the plan's order each move leaves its device, and arrives. */
  private final int[] departs;

  private final int[] arrives;

  /** What has yet to leave each device: bytes and moves. */
  private final long[] leavingBytes;

  private final List<List<Integer>> leaving;

  WavePartition(ShardingPlan plan, WaveSettings settings) {
    this.plan = plan;
    moves = plan.transition().moves();
    order = plan.transition().moveOrder();
    prices = plan.origin().settings();
    this.settings = settings;
    placed = plan.placed();
    ranks = placed.ranks();
    long fullest =
        plan.prediction().deviceCosts().stream().mapToLong(DeviceCost::memoryBytes).max().orElse(0);
    usableBytes =
        settings
            .usableMemory()
            .<IntToLongFunction>map(memory -> memory::bytes)
            .orElse(d -> fullest);
    slowedStepMs = slowedStepMs(plan, 1 / (1 - settings.linkShare()));
    departs = new int[moves.size()];
    arrives = new int[moves.size()];
    leavingBytes = new long[ranks];
    leaving = IntStream.range(0, ranks).<List<Integer>>mapToObj(d -> new ArrayList<>()).toList();
    Map<String, List<Integer>> byTable = new LinkedHashMap<>();
    for (int m = 0; m < moves.size(); m++) {
      byTable.computeIfAbsent(move(m).table(), name -> new ArrayList<>()).add(m);
    }
    byGain(byTable).forEach(table -> open.put(table, byTable.get(table)));
    for (int s = 0; s < order.size(); s++) {
      MoveStep step = order.get(s);
      if (step.stage() != MoveStep.Stage.FROM_HOST) {
        departs[step.move()] = s;
      }
      if (step.stage() != MoveStep.Stage.TO_HOST) {
        arrives[step.move()] = s;
      }
    }
    findLeaving();
  }

  MoveWaves waves() {
    List<MoveWave> waves = new ArrayList<>();
    if (order.isEmpty() && !open.isEmpty()) {
      // The replica groups change: all tables move, through a checkpoint.
      List<MoveStep> steps = IntStream.range(0, moves.size()).mapToObj(this::direct).toList();
      waves.add(stopped(List.copyOf(open.keySet()), steps));
      open.clear();
    }
    List<String> lost = open.keySet().stream().filter(this::isLost).toList();
    if (!lost.isEmpty()) {
      waves.add(finish(stopped(lost)));
    }
    while (!open.isEmpty()) {
      List<String> tables = next();
      waves.add(finish(tables.isEmpty() ? stopped(List.of(firstInOrder())) : yielding(tables)));
    }
    return new MoveWaves(waves, plan.predictedMs(), slowedStepMs);
  }

  /** Returns tables, those with the largest explained gain per byte first. */
  private List<String> byGain(Map<String, List<Integer>> byTable) {
    Map<String, Double> gains = new HashMap<>();
    plan.prediction()
        .insight()
        .explanations()
        .forEach(e -> gains.merge(e.table(), Math.max(0, e.gainMs()), Double::sum));
    Map<String, Double> perByte = new HashMap<>();
    byTable.forEach(
        (table, ofTable) -> {
          long bytes = ofTable.stream().mapToLong(m -> move(m).bytes()).sum();
          perByte.put(table, gains.getOrDefault(table, 0.0) / Math.max(1, bytes));
        });
    return byTable.keySet().stream()
        .sorted(Comparator.<String>comparingDouble(perByte::get).reversed())
        .toList();
  }

  private void findLeaving() {
    Arrays.fill(leavingBytes, 0);
    leaving.forEach(List::clear);
    for (List<Integer> ofTable : open.values()) {
      for (int m : ofTable) {
        int from = move(m).fromDevice();
        // Who sends copies keeps its own.
        if (!move(m).overlap().isCopied() && from < ranks) {
          leavingBytes[from] += move(m).bytes();
          leaving.get(from).add(m);
        }
      }
    }
  }

  private MoveWave finish(MoveWave wave) {
    wave.tables().forEach(open::remove);
    findLeaving();
    return wave;
  }

  /** Returns whether a part of the table was on a device that is gone. */
  private boolean isLost(String table) {
    return open.get(table).stream().anyMatch(m -> move(m).fromDevice() >= ranks);
  }

  /** Returns the tables of the next wave that yields; none if full devices block one another. */
  private List<String> next() {
    List<String> tables = new ArrayList<>();
    long[] load = new long[2 * ranks];
    for (Map.Entry<String, List<Integer>> table : open.entrySet()) {
      if (mayMove(table.getValue())) {
        add(table.getValue(), load, 1);
        if (tables.isEmpty() || transferMs(load) <= settings.longestMs()) {
          tables.add(table.getKey());
        } else {
          add(table.getValue(), load, -1);
        }
      }
    }
    return tables;
  }

  private boolean mayMove(List<Integer> ofTable) {
    return ofTable.stream().allMatch(m -> blocking(m).findAny().isEmpty());
  }

  /** Returns the moves that make room for another one. */
  private IntStream blocking(int m) {
    return Arrays.stream(move(m).overlap().receivers(placed))
        .filter(device -> !hasRoom(device))
        .flatMap(device -> leaving.get(device).stream().mapToInt(before -> before))
        .filter(before -> departs[before] < arrives[m]);
  }

  /** Returns whether a device has room for all that it will hold and has yet to send. */
  private boolean hasRoom(int device) {
    long holds = plan.prediction().deviceCosts().get(placed.position(device)).memoryBytes();
    return holds + leavingBytes[device] <= usableBytes.applyAsLong(device);
  }

  private MoveWave yielding(List<String> tables) {
    List<MoveStep> steps =
        tables.stream().flatMap(t -> open.get(t).stream()).sorted().map(this::direct).toList();
    long[] load = new long[2 * ranks];
    tables.forEach(table -> add(open.get(table), load, 1));
    double durationMs = transferMs(load);
    double slowMs = slowedStepMs > 0 ? durationMs * (1 - plan.predictedMs() / slowedStepMs) : 0;
    return new MoveWave(tables, steps, bytes(steps), false, durationMs, slowMs + stopMs(steps));
  }

  /** Returns a wave of tables and all that have to make room for them. */
  private MoveWave stopped(List<String> tables) {
    Set<String> together = new LinkedHashSet<>(tables);
    Deque<String> toFollow = new ArrayDeque<>(tables);
    while (!toFollow.isEmpty()) {
      for (int m : open.get(toFollow.remove())) {
        blocking(m)
            .mapToObj(before -> move(before).table())
            .filter(together::add)
            .forEach(toFollow::add);
      }
    }
    return stopped(
        List.copyOf(together),
        order.stream().filter(step -> together.contains(move(step.move()).table())).toList());
  }

  /** The moves are made one after another, as the search prices them. */
  private MoveWave stopped(List<String> tables, List<MoveStep> steps) {
    double durationMs = bytes(steps) / (prices.moveGigabytesPerSecond() * BYTES_PER_MS);
    return new MoveWave(tables, steps, bytes(steps), true, durationMs, durationMs + stopMs(steps));
  }

  private String firstInOrder() {
    return order.stream()
        .map(step -> move(step.move()).table())
        .filter(open::containsKey)
        .findFirst()
        .orElseThrow();
  }

  /** Adds moves to the bytes that each device sends, and behind them those that each receives. */
  private void add(List<Integer> ofTable, long[] load, int sign) {
    for (int m : ofTable) {
      Transfer move = move(m);
      // Of copies that all devices have, the first one sends.
      int from = Math.max(0, move.fromDevice());
      int[] receivers = move.overlap().receivers(placed);
      if (from < ranks) {
        load[from] += sign * move.bytes();
      }
      for (int device : receivers) {
        load[ranks + device] += sign * (move.bytes() / receivers.length);
      }
    }
  }

  /** Returns how long the device takes that sends or receives most, in one direction. */
  private double transferMs(long[] load) {
    return Arrays.stream(load).max().orElse(0)
        / (settings.linkShare() * prices.moveGigabytesPerSecond() * BYTES_PER_MS);
  }

  /** Returns how long training stops while the shards of a wave change places. */
  private double stopMs(List<MoveStep> steps) {
    long arrivals = steps.stream().filter(s -> s.stage() != MoveStep.Stage.TO_HOST).count();
    return prices.reshardMs() + arrivals * prices.moveOverheadMs();
  }

  private long bytes(List<MoveStep> steps) {
    return steps.stream().mapToLong(step -> move(step.move()).bytes()).sum();
  }

  private Transfer move(int m) {
    return moves.get(m);
  }

  private MoveStep direct(int m) {
    return new MoveStep(m, MoveStep.Stage.DIRECT);
  }

  /** Returns the predicted step if all collectives take so many times as long. */
  private static double slowedStepMs(ShardingPlan plan, double times) {
    double lastStartMs = StepTimes.lastStartMs(plan.prediction().deviceCosts());
    double slowedStartMs = 0;
    double forwardMs = 0;
    for (DeviceCost cost : plan.prediction().deviceCosts()) {
      slowedStartMs = Math.max(slowedStartMs, cost.computeMs() + cost.backwardCommMs() * times);
      forwardMs = Math.max(forwardMs, cost.transferMs(lastStartMs));
    }
    double slowedMs = slowedStartMs + (forwardMs + plan.replication().msPerStep()) * times;
    return Math.max(plan.predictedMs(), slowedMs);
  }
}
