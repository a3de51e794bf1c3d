package io.shardtide.allocation.choice;

/**
 * A choice within the limits.
 *
 * @param choice option of each group
 * @param value total value
 * @param bound no choice within the limits has a greater value; {@code value} if the choice is
 *     proven optimal
 */
@SuppressWarnings("ArrayRecordComponent") // Never compared.
public record ChoiceResult(int[] choice, double value, double bound) {
  /** Returns by how much the optimum may be better at most, as a share of the bound. */
  public double gap() {
    return bound <= value || bound <= 0 ? 0 : (bound - value) / bound;
  }
}
