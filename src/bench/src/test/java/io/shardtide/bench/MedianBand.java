package io.shardtide.bench;

import java.util.Arrays;

/**
 * Running median: alarm when the median of the latest {@value #WINDOW} values exceeds {@value
 * DriftDetector#ALLOWANCE}. Fewer than half of the values, however large, cannot raise an alarm.
 */
final class MedianBand implements DriftDetector {
  /** Eight values beyond the allowance raise an alarm, seven do not. */
  private static final int WINDOW = 15;

  private final double[] latest = new double[WINDOW];
  private final double[] sorted = new double[WINDOW];
  private int count;

  @Override
  public boolean add(double deviation) {
    int size = Math.min(count, WINDOW);
    if (count >= WINDOW) {
      int expired = Arrays.binarySearch(sorted, latest[count % WINDOW]);
      System.arraycopy(sorted, expired + 1, sorted, expired, WINDOW - expired - 1);
      size--;
    }
    int index = Arrays.binarySearch(sorted, 0, size, deviation);
    index = index < 0 ? -index - 1 : index;
    System.arraycopy(sorted, index, sorted, index + 1, size - index);
    sorted[index] = deviation;
    latest[count % WINDOW] = deviation;
    count++;
    return count >= WINDOW && Math.abs(sorted[WINDOW / 2]) > ALLOWANCE;
  }
}
