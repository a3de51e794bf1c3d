package io.shardtide.search.codecs;

import io.shardtide.cost.CodecChoice;
import io.shardtide.cost.TablePrediction;
import io.shardtide.domain.ClusterSpec;
import io.shardtide.domain.CollectiveCodec;
import io.shardtide.domain.SearchSettings;
import io.shardtide.domain.ShardScope;
import io.shardtide.search.SearchProblem;
import io.shardtide.search.SearchResult;
import io.shardtide.search.local.LocalSearch;
import java.util.EnumSet;
import java.util.List;
import java.util.Set;
import java.util.stream.Collectors;

/**
 * Searches plans whose collectives may have codecs: once without any and, if some are worth it,
 * once more with those. The better one of both plans, each with the codecs that are best for it, is
 * returned, so that no plan is worse than without codecs.
 */
public final class CodecSearch {
  private CodecSearch() {}

  /**
   * Searches a problem.
   *
   * @param problem what is to be sharded, without codecs in use
   * @param settings the budget of each search, and the price of moves
   */
  public static SearchResult search(SearchProblem problem, SearchSettings settings) {
    SearchResult first = LocalSearch.search(problem, settings);
    if (!(first instanceof SearchResult.Found without) || problem.cluster().codecs().isEmpty()) {
      return first;
    }
    List<CollectiveCodec> codecs = codecs(problem, without);
    if (codecs.isEmpty()) {
      return first;
    }
    SearchResult second = LocalSearch.search(problem.with(codecs), settings);
    long evaluations = first.evaluations() + second.evaluations();
    boolean isBetter =
        second instanceof SearchResult.Found with
            && totalMs(problem, with, settings) < totalMs(problem, without, settings);
    return (isBetter ? (SearchResult.Found) second : without).after(evaluations);
  }

  /** Returns the codecs of the second search. */
  private static List<CollectiveCodec> codecs(SearchProblem problem, SearchResult.Found found) {
    ClusterSpec cluster = problem.cluster();
    Set<ShardScope> present =
        found.shards().stream()
            .map(shard -> shard.kind().scope())
            .collect(Collectors.toCollection(() -> EnumSet.noneOf(ShardScope.class)));
    double elements =
        problem.tables().stream()
            .map(TablePrediction::table)
            .mapToDouble(table -> table.outputs(cluster.batchSize(), 1) * table.columns())
            .sum();
    // Models without measured collectives predict shards with all rows only.
    if (!problem.model().predictsAllKinds()) {
      present = EnumSet.allOf(ShardScope.class);
    }
    return CodecChoice.forSearch(
        problem.model().evaluator(), cluster, found.codecs(), present, elements);
  }

  /** Returns a plan's step and the price of its moves, in milliseconds a step. */
  private static double totalMs(
      SearchProblem problem, SearchResult.Found found, SearchSettings settings) {
    return found.predictedMs() + settings.moveMs(found.moves(problem.running(), problem.tables()));
  }
}
