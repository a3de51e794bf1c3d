package io.shardtide.search.local;

/**
 * What an assignment costs beside computation and collectives of a step, in milliseconds a step.
 *
 * @param moves the price of moves away from the running plan
 * @param synchronization the price of keeping replica groups equal
 */
record Prices(MovePrice moves, SynchronizationPrice synchronization) {
  double ms() {
    return moves.ms() + synchronization.ms();
  }

  /** Returns prices of the same kinds, before any assignment. */
  Prices copy() {
    return new Prices(moves.copy(), synchronization.copy());
  }

  /** Recomputes the prices from the assignment. */
  void refresh(Assignment assignment) {
    moves.refresh(assignment);
    synchronization.refresh(assignment);
  }

  /** Returns by how much a move raises the prices. */
  double change(Assignment assignment, SearchMove move) {
    return moves.change(assignment, move) + synchronization.change(assignment, move);
  }

  /** Updates the prices for a move that is about to be applied. */
  void apply(Assignment assignment, SearchMove move) {
    moves.apply(assignment, move);
    synchronization.apply(assignment, move);
  }
}
