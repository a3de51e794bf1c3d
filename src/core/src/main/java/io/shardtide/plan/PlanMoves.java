package io.shardtide.plan;

import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;

/**
 * The way from the running plan to a plan.
 *
 * @param moves parts of tables that change their device, in {@link Transfer#ORDER}
 * @param moveOrder an order in which the moves can be made with no device above its memory
 */
public record PlanMoves(List<Transfer> moves, List<MoveStep> moveOrder) {
  /** No moves. */
  public static final PlanMoves NONE = new PlanMoves(List.of(), List.of());

  /** Copies what may change. */
  public PlanMoves {
    moves = List.copyOf(moves);
    moveOrder = List.copyOf(moveOrder);
  }

  /**
   * Returns how many shards get anything from another device. A shard may get parts from several
   * devices, and a copy is one shard on however many devices. Those of replica groups count once.
   *
   * @param next the plan after the moves
   */
  public int shards(PlanShards next) {
    Map<String, List<Transfer>> ofTables =
        moves.stream().collect(Collectors.groupingBy(Transfer::table));
    return (int)
        next.shards().stream()
            .filter(
                shard ->
                    ofTables.getOrDefault(shard.table(), List.of()).stream()
                        .anyMatch(move -> move.isInto(shard, next)))
            .count();
  }

  /** Returns the bytes of all moves. */
  public long bytes() {
    return moves.stream().mapToLong(Transfer::bytes).sum();
  }
}
