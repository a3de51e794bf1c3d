package io.shardtide.domain;

import java.util.List;

/**
 * The way from the running plan to a plan.
 *
 * @param moves parts of tables that change their device, in {@link Move#ORDER}
 * @param moveOrder an order in which the moves can be made with no device above its memory
 */
public record PlanMoves(List<Move> moves, List<MoveStep> moveOrder) {
  /** No moves. */
  public static final PlanMoves NONE = new PlanMoves(List.of(), List.of());

  /** Copies what may change. */
  public PlanMoves {
    moves = List.copyOf(moves);
    moveOrder = List.copyOf(moveOrder);
  }

  /** Returns the bytes of all moves. */
  public long bytes() {
    return moves.stream().mapToLong(Move::bytes).sum();
  }
}
