package io.shardtide.cost;

import io.shardtide.domain.ClusterSpec;
import io.shardtide.domain.CollectiveCodec;
import io.shardtide.domain.CommCodec;
import io.shardtide.domain.Direction;
import io.shardtide.domain.ShardScope;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.Set;

/**
 * The codecs with which a placement has the shortest step. Both directions are chosen apart: a step
 * is the largest computation and backward communication, and the largest forward communication.
 * Within a direction, all choices for its scopes are compared, so that none is shorter. Of equally
 * short ones, the one with the fewest codecs is chosen, then the one with the least compression.
 */
public final class CodecChoice {
  private final CostEvaluator evaluator;
  private final ClusterSpec cluster;
  private final List<DeviceLoad> loads;
  private final Slowdowns slowdowns;

  private CodecChoice(
      CostEvaluator evaluator, ClusterSpec cluster, List<DeviceLoad> loads, Slowdowns slowdowns) {
    this.evaluator = evaluator;
    this.cluster = cluster;
    this.loads = loads;
    this.slowdowns = slowdowns;
  }

  /**
   * A way to send what shards of a scope communicate.
   *
   * @param codec the codec, if any
   * @param ms the collectives of each device in milliseconds
   */
  @SuppressWarnings("ArrayRecordComponent") // None are compared.
  private record CodecOption(Optional<CommCodec> codec, double[] ms) {}

  /**
   * Returns the codecs of a placement.
   *
   * @param evaluator predicts
   * @param cluster the devices, and the codecs to choose among
   * @param loads the load of each device
   * @param slowdowns how slow the devices are
   */
  public static List<CollectiveCodec> of(
      CostEvaluator evaluator, ClusterSpec cluster, List<DeviceLoad> loads, Slowdowns slowdowns) {
    return cluster.codecs().isEmpty()
        ? List.of()
        : new CodecChoice(evaluator, cluster, loads, slowdowns).choose();
  }

  /**
   * Returns codecs for a search of other placements: those of a placement and, for scopes that it
   * has no shards of, those that would be best if all tables were there, spread evenly.
   *
   * @param evaluator predicts
   * @param cluster the devices, and the codecs to choose among
   * @param chosen the codecs of the placement
   * @param present the scopes that it has shards of
   * @param elements numbers that all tables contribute to collectives together
   */
  public static List<CollectiveCodec> forSearch(
      CostEvaluator evaluator,
      ClusterSpec cluster,
      List<CollectiveCodec> chosen,
      Set<ShardScope> present,
      double elements) {
    List<CollectiveCodec> codecs = new ArrayList<>(chosen);
    for (ShardScope scope : StepComm.SCOPES) {
      if (!present.contains(scope)) {
        for (Direction direction : Direction.values()) {
          ofAll(evaluator, cluster, scope, direction, elements).ifPresent(codecs::add);
        }
      }
    }
    return codecs.stream().sorted(CollectiveCodec.ORDER).toList();
  }

  private static Optional<CollectiveCodec> ofAll(
      CostEvaluator evaluator,
      ClusterSpec cluster,
      ShardScope scope,
      Direction direction,
      double elements) {
    double[] ofDevices = new double[cluster.devices()];
    Arrays.fill(
        ofDevices,
        switch (scope) {
          case DEVICE -> elements / cluster.devices();
          case NODE -> elements / cluster.nodes();
          case CLUSTER, COPIES -> elements;
        });
    CollectiveCodec best = null;
    double bestMs = ofAllMs(evaluator, StepComm.of(cluster), scope, direction, ofDevices);
    for (CommCodec codec : StepComm.candidates(cluster, scope, direction)) {
      CollectiveCodec candidate = new CollectiveCodec(scope, direction, codec, 0);
      StepComm wire = new StepComm(cluster, List.of(candidate));
      double ms = ofAllMs(evaluator, wire, scope, direction, ofDevices);
      if (ms < bestMs) {
        best = candidate;
        bestMs = ms;
      }
    }
    return Optional.ofNullable(best);
  }

  private static double ofAllMs(
      CostEvaluator evaluator,
      StepComm wire,
      ShardScope scope,
      Direction direction,
      double[] ofDevices) {
    double[] ms = new StepCollectives(evaluator, wire).of(scope, direction, ofDevices);
    return Arrays.stream(ms).max().orElse(0);
  }

  private List<CollectiveCodec> choose() {
    double[] computeMs = StepCost.computeMs(evaluator, loads, slowdowns);
    List<CollectiveCodec> chosen = new ArrayList<>();
    chosen.addAll(choose(Direction.FORWARD, new double[loads.size()]));
    chosen.addAll(choose(Direction.BACKWARD, computeMs));
    return chosen.stream().sorted(CollectiveCodec.ORDER).toList();
  }

  /**
   * Returns the codecs of a direction.
   *
   * @param beforeMs what each device does before its communication, in milliseconds
   */
  private List<CollectiveCodec> choose(Direction direction, double[] beforeMs) {
    List<List<CodecOption>> options =
        StepComm.SCOPES.stream().map(scope -> options(scope, direction)).toList();
    double[] copiesMs =
        new StepCollectives(evaluator, StepComm.of(cluster))
            .of(ShardScope.COPIES, direction, loads);
    int[] best = new int[StepComm.SCOPES.size()];
    double bestMs = ms(options, best, copiesMs, beforeMs);
    int bestCodecs = 0;
    int[] choice = new int[best.length];
    while (next(choice, options)) {
      double ms = ms(options, choice, copiesMs, beforeMs);
      int codecs = codecs(choice);
      if (ms < bestMs || (ms == bestMs && codecs < bestCodecs)) {
        best = choice.clone();
        bestMs = ms;
        bestCodecs = codecs;
      }
    }
    List<CollectiveCodec> chosen = new ArrayList<>();
    for (int s = 0; s < best.length; s++) {
      if (best[s] > 0) {
        int[] without = best.clone();
        without[s] = 0;
        chosen.add(
            new CollectiveCodec(
                StepComm.SCOPES.get(s),
                direction,
                options.get(s).get(best[s]).codec().orElseThrow(),
                ms(options, without, copiesMs, beforeMs) - bestMs));
      }
    }
    return chosen;
  }

  /** Goes to the next choice, the last scope first; returns false after the last one. */
  private static boolean next(int[] choice, List<List<CodecOption>> options) {
    for (int s = choice.length - 1; s >= 0; s--) {
      choice[s]++;
      if (choice[s] < options.get(s).size()) {
        return true;
      }
      choice[s] = 0;
    }
    return false;
  }

  private static int codecs(int[] choice) {
    int codecs = 0;
    for (int option : choice) {
      codecs += option > 0 ? 1 : 0;
    }
    return codecs;
  }

  /** Returns the ways to send what a scope communicates, without a codec first. */
  private List<CodecOption> options(ShardScope scope, Direction direction) {
    List<CodecOption> options = new ArrayList<>();
    options.add(option(scope, direction, Optional.empty()));
    if (loads.stream().anyMatch(load -> load.elements(scope) > 0)) {
      for (CommCodec codec : StepComm.candidates(cluster, scope, direction)) {
        options.add(option(scope, direction, Optional.of(codec)));
      }
    }
    return options;
  }

  private CodecOption option(ShardScope scope, Direction direction, Optional<CommCodec> codec) {
    List<CollectiveCodec> codecs =
        codec.stream().map(of -> new CollectiveCodec(scope, direction, of, 0)).toList();
    StepComm wire = new StepComm(cluster, codecs);
    return new CodecOption(codec, new StepCollectives(evaluator, wire).of(scope, direction, loads));
  }

  /** Returns the latest end of a direction's communication, in milliseconds. */
  private double ms(
      List<List<CodecOption>> options, int[] choice, double[] copiesMs, double[] beforeMs) {
    double[] ms =
        StepCollectives.sum(
            options.get(0).get(choice[0]).ms(),
            options.get(1).get(choice[1]).ms(),
            options.get(2).get(choice[2]).ms(),
            copiesMs);
    double latestMs = 0;
    for (int d = 0; d < ms.length; d++) {
      latestMs = Math.max(latestMs, beforeMs[d] + slowdowns.communicationMs(d, ms[d]));
    }
    return latestMs;
  }
}
