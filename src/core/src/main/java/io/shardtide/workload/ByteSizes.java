package io.shardtide.workload;

import java.util.Locale;

/** Numbers of bytes as a person reads them. */
public final class ByteSizes {
  private static final String[] UNITS = {"B", "KiB", "MiB", "GiB", "TiB", "PiB"};

  private ByteSizes() {}

  /** Returns the least bytes, no fewer than these, that {@link #describe} shows exactly. */
  public static long roundedUp(long bytes) {
    double unit = 1;
    while (bytes / unit >= 1024) {
      unit *= 1024;
    }
    return unit == 1 ? bytes : (long) Math.ceil(Math.ceil(10 * (bytes / unit)) * unit / 10);
  }

  /** Returns bytes in the largest unit that leaves a number of 1 and more. */
  public static String describe(long bytes) {
    double value = bytes;
    int unit = 0;
    while (Math.abs(value) >= 1024 && unit < UNITS.length - 1) {
      value /= 1024;
      unit++;
    }
    return String.format(Locale.ROOT, unit == 0 ? "%.0f %s" : "%.1f %s", value, UNITS[unit]);
  }
}
