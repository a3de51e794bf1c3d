package io.shardtide.plan;

/**
 * One step of carrying out a plan's moves.
 *
 * @param move position of the move in the plan's moves, from 0
 * @param stage the transfer
 */
public record MoveStep(int move, Stage stage) {
  /** The transfer of a step. */
  public enum Stage {
    /** From device to device. */
    DIRECT,
    /** From its device into the host's memory, which frees the device. */
    TO_HOST,
    /** From the host's memory to its new device. */
    FROM_HOST
  }
}
