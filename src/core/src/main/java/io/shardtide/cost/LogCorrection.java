package io.shardtide.cost;

import java.util.List;

/**
 * A correction of the natural logarithm of a cost, with its uncertainty: an ensemble of linear
 * functions over a basis ({@link ShapeBasis}, {@link CollectiveBasis}). Its mean is that of the
 * members, and its standard deviation that of one draw of each member's posterior.
 *
 * @param members at least one
 */
public record LogCorrection(List<Member> members) {
  /** A larger correction is an error of the samples, as {@code CostComparison} rejects them. */
  private static final double MAX_LOG = StrictMath.log(10_000);

  /**
   * A member of the ensemble. Holds its arrays without a copy.
   *
   * @param phase where the knots of the basis lie, as a share of their distance, 0 to below 1
   * @param weights posterior mean of the weight of each function
   * @param draw a draw of the posterior of the weights
   */
  @SuppressWarnings("ArrayRecordComponent") // Never compared.
  public record Member(double phase, double[] weights, double[] draw) {
    /**
     * Checks the numbers.
     *
     * @throws InvalidModelException if one is not finite or outside its range
     */
    public Member {
      if (!(phase >= 0 && phase < 1)) {
        throw new InvalidModelException(
            "phase of a correction must be at least 0 and below 1, got " + phase);
      }
      check(weights);
      check(draw);
    }

    private static void check(double[] numbers) {
      for (double number : numbers) {
        if (!Double.isFinite(number)) {
          throw new InvalidModelException("weights of a correction must be finite, got " + number);
        }
      }
    }
  }

  /** The functions of a cost, for a phase of their knots. */
  @FunctionalInterface
  public interface Basis {
    /** Returns the functions, the first of which is 1. */
    double[] of(double phase);
  }

  /**
   * What is known of the logarithm of a cost.
   *
   * @param mean expected correction, between logarithms of 1/10,000 and 10,000
   * @param deviation standard deviation
   */
  public record Estimate(double mean, double deviation) {}

  /** Copies what may change. */
  public LogCorrection {
    members = List.copyOf(members);
    if (members.isEmpty()) {
      throw new InvalidModelException("members of a correction must be at least 1, got 0");
    }
  }

  /** Returns what is known of a cost. */
  public Estimate of(Basis basis) {
    double sum = 0;
    double[] draws = new double[members.size()];
    for (int m = 0; m < draws.length; m++) {
      Member member = members.get(m);
      double[] functions = basis.of(member.phase());
      sum += dot(functions, member.weights());
      draws[m] = dot(functions, member.draw());
    }
    double mean = sum / draws.length;
    double squares = 0;
    for (double draw : draws) {
      squares += (draw - mean) * (draw - mean);
    }
    return new Estimate(
        Math.max(-MAX_LOG, Math.min(MAX_LOG, mean)), Math.sqrt(squares / draws.length));
  }

  /** Returns the sum of the products of two lists of numbers. */
  public static double dot(double[] a, double[] b) {
    double sum = 0;
    for (int i = 0; i < a.length; i++) {
      sum += a[i] * b[i];
    }
    return sum;
  }
}
