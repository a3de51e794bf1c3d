package io.shardtide.trainer;

/**
 * Pseudo-random numbers as a function of a key, independent of sharding and thread order: the
 * finalizer of SplitMix64 (Steele, Lea and Flood, OOPSLA 2014).
 */
final class SplitMixHash {
  private static final long GAMMA = 0x9e3779b97f4a7c15L;

  private SplitMixHash() {}

  /** Returns 64 mixed bits. */
  static long mix(long seed) {
    long z = seed + GAMMA;
    z = (z ^ (z >>> 30)) * 0xbf58476d1ce4e5b9L;
    z = (z ^ (z >>> 27)) * 0x94d049bb133111ebL;
    return z ^ (z >>> 31);
  }

  /** Returns 64 mixed bits of two numbers. */
  static long mix(long a, long b) {
    return mix(mix(a) ^ b);
  }

  /** Returns 64 mixed bits of a text and a number. */
  static long mix(String text, long number) {
    long bits = text.length();
    for (int i = 0; i < text.length(); i++) {
      bits = mix(bits, text.charAt(i));
    }
    return mix(bits, number);
  }

  /** Returns a number from -1 to 1. */
  static float signed(long bits) {
    return (bits >> 40) * 0x1p-23f;
  }
}
