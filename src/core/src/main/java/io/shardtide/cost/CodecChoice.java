package io.shardtide.cost;

import io.shardtide.plan.CollectiveCodec;
import io.shardtide.workload.ClusterSpec;
import io.shardtide.workload.Direction;
import io.shardtide.workload.ShardScope;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.Comparator;
import java.util.List;
import java.util.Set;

/**
 * The codecs with which a placement has the shortest step. Both directions are chosen apart: a step
 * is the largest computation and backward communication, and the largest forward communication.
 * Within a direction, all choices for its scopes are compared, so that none is shorter. Of equally
 * short ones, the one with the fewest codecs is chosen, then the one with the least compression.
 */
public record CodecChoice(
    CostEvaluator evaluator, ClusterSpec cluster, List<DeviceLoad> loads, Slowdowns slowdowns) {

  /**
   * A way to send what shards of a scope communicate.
   *
   * @param ms the collectives of each device in milliseconds
   */
  @SuppressWarnings("ArrayRecordComponent") // None are compared.
  private record CodecOption(StepCollective collective, double[] ms) {}

  /**
   * Returns the collectives of a placement.
   *
   * @param evaluator predicts
   * @param cluster the devices, and the codecs to choose among
   * @param loads the load of each device
   * @param slowdowns how slow the devices are
   */
  public static StepCollectives of(
      CostEvaluator evaluator, ClusterSpec cluster, List<DeviceLoad> loads, Slowdowns slowdowns) {
    return cluster.codecs().isEmpty()
        ? StepCollectives.of(cluster)
        : new CodecChoice(evaluator, cluster, loads, slowdowns).choose();
  }

  /**
   * Returns the collectives for a search of other placements: those of a placement and, for scopes
   * that it has no shards of, those that would be best if all tables were there, spread evenly.
   *
   * @param evaluator predicts
   * @param chosen the collectives of the placement
   * @param present the scopes that it has shards of
   * @param elements numbers that all tables contribute to collectives together
   */
  public static StepCollectives forSearch(
      CostEvaluator evaluator, StepCollectives chosen, Set<ShardScope> present, double elements) {
    List<CollectiveCodec> codecs = new ArrayList<>(chosen.codecs());
    StepCollectives.candidates(chosen.cluster()).stream()
        .filter(of -> !present.contains(of.get(0).scope()))
        .map(
            of ->
                Collections.min(
                    of, Comparator.comparingDouble(c -> evenMs(evaluator, c, elements))))
        .flatMap(of -> of.coded(0).stream())
        .forEach(codecs::add);
    return new StepCollectives(chosen.cluster(), codecs);
  }

  private static double evenMs(CostEvaluator evaluator, StepCollective of, double elements) {
    double[] ofMembers = new double[of.members().devices()];
    Arrays.fill(ofMembers, elements / ofMembers.length);
    return Arrays.stream(of.ms(evaluator, ofMembers)).max().orElseThrow();
  }

  private StepCollectives choose() {
    double[] computeMs = StepCost.computeMs(evaluator, loads, slowdowns);
    List<CollectiveCodec> chosen = new ArrayList<>();
    chosen.addAll(choose(Direction.FORWARD, new double[loads.size()]));
    chosen.addAll(choose(Direction.BACKWARD, computeMs));
    return new StepCollectives(cluster, chosen);
  }

  /**
   * Returns the codecs of a direction.
   *
   * @param beforeMs what each device does before its communication, in milliseconds
   */
  private List<CollectiveCodec> choose(Direction direction, double[] beforeMs) {
    List<List<CodecOption>> options =
        Arrays.stream(ShardScope.values()).map(scope -> options(scope, direction)).toList();
    int[] best = new int[options.size()];
    double bestMs = ms(options, best, beforeMs);
    int[] choice = new int[best.length];
    while (next(choice, options)) {
      double ms = ms(options, choice, beforeMs);
      if (ms < bestMs || (ms == bestMs && codecs(choice) < codecs(best))) {
        best = choice.clone();
        bestMs = ms;
      }
    }
    List<CollectiveCodec> chosen = new ArrayList<>();
    for (int s = 0; s < best.length; s++) {
      int[] without = best.clone();
      without[s] = 0;
      double savedMs = ms(options, without, beforeMs) - bestMs;
      options.get(s).get(best[s]).collective().coded(savedMs).ifPresent(chosen::add);
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

  private static long codecs(int[] choice) {
    return Arrays.stream(choice).filter(option -> option > 0).count();
  }

  /** Returns the ways to send what a scope communicates, without a codec first. */
  private List<CodecOption> options(ShardScope scope, Direction direction) {
    boolean isSent = loads.stream().anyMatch(load -> load.elements(scope) > 0);
    return StepCollective.candidates(cluster, scope, direction).stream()
        .limit(isSent ? Long.MAX_VALUE : 1)
        .map(of -> new CodecOption(of, of.ms(evaluator, loads)))
        .toList();
  }

  /** Returns the latest end of a direction's communication, in milliseconds. */
  private double ms(List<List<CodecOption>> options, int[] choice, double[] beforeMs) {
    List<double[]> ofScopes = new ArrayList<>();
    for (int s = 0; s < choice.length; s++) {
      ofScopes.add(options.get(s).get(choice[s]).ms());
    }
    double[] ms = StepCollectives.sum(ofScopes);
    double latestMs = 0;
    for (int d = 0; d < ms.length; d++) {
      latestMs = Math.max(latestMs, beforeMs[d] + slowdowns.communicationMs(d, ms[d]));
    }
    return latestMs;
  }
}
