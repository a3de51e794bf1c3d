package io.shardtide.search;

/**
 * Pseudorandom numbers that are the same on every platform: SplitMix64 (Steele, Lea and Flood,
 * OOPSLA 2014) with a fixed seed.
 */
final class SeededRandom {
  private static final int LOGARITHMS = 1 << 12;

  /** {@code -ln(u)} at the middles of 4,096 intervals of u. */
  private static final double[] MINUS_LN = new double[LOGARITHMS];

  static {
    for (int i = 0; i < LOGARITHMS; i++) {
      MINUS_LN[i] = -StrictMath.log((i + 0.5) / LOGARITHMS);
    }
  }

  private long state;

  SeededRandom(long seed) {
    state = seed;
  }

  private long next() {
    state += 0x9E3779B97F4A7C15L;
    long z = state;
    z = (z ^ (z >>> 30)) * 0xBF58476D1CE4E5B9L;
    z = (z ^ (z >>> 27)) * 0x94D049BB133111EBL;
    return z ^ (z >>> 31);
  }

  /** Returns a number from 0 to below {@code bound}. */
  int below(int bound) {
    return (int) (((next() >>> 32) * bound) >>> 32);
  }

  /** Returns an exponentially distributed number of mean 1. */
  double exponential() {
    return MINUS_LN[(int) (next() >>> 52)];
  }
}
