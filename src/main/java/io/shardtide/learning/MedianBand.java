package io.shardtide.learning;

import java.util.Arrays;

/**
 * The median of the latest values outside a band: robust, since up to half of the values may be
 * anything. The band's width goes by the median absolute deviation, which is in the units.
 */
final class MedianBand implements DriftDetector {
  /** Eight values beyond the band raise an alarm, seven do not. */
  private static final int WINDOW = 15;

  private final double[] latest = new double[WINDOW];
  private final double[] sorted = new double[WINDOW];
  private int count;

  @Override
  public boolean add(double deviation) {
    int kept = Math.min(count, WINDOW);
    if (count >= WINDOW) {
      int gone = Arrays.binarySearch(sorted, latest[count % WINDOW]);
      System.arraycopy(sorted, gone + 1, sorted, gone, WINDOW - gone - 1);
      kept--;
    }
    int place = Arrays.binarySearch(sorted, 0, kept, deviation);
    place = place < 0 ? -place - 1 : place;
    System.arraycopy(sorted, place, sorted, place + 1, kept - place);
    sorted[place] = deviation;
    latest[count % WINDOW] = deviation;
    count++;
    return count >= WINDOW && Math.abs(sorted[WINDOW / 2]) > ALLOWANCE;
  }
}
