package io.shardtide.bench;

import java.util.Random;
import java.util.SortedMap;
import java.util.TreeMap;

/**
 * Synthetic residuals, ln(measured / predicted), with a known change. Noise before the change: 2%
 * common to all devices and 4% of each device. Model error, which differs for each plan of 50
 * measurements: 2% common to all devices and 3% of each device.
 */
final class ResidualSeries {
  /** Number of devices. */
  static final int DEVICES = 4;

  /** Number of measurements. */
  static final int LENGTH = 400;

  /** Index of the first measurement after the change. */
  static final int ONSET = 200;

  /** The device that becomes slow in {@link SeriesKind#SLOW_DEVICE}. */
  static final int SLOW_DEVICE = 2;

  private static final int PLAN = 50;
  private static final double SHARED_NOISE = 0.02;
  private static final double OWN_NOISE = 0.04;
  private static final double PLAN_ERROR = 0.02;
  private static final double PLAN_DEVICE_ERROR = 0.03;

  /** Kinds of changes. */
  enum SeriesKind {
    /** No change. */
    NO_CHANGE("no change", ExpectedAlarm.NONE),
    /** 3% of the measurements, in bursts of one to three, are 2 to 10 times as large. */
    SPIKES("spikes", ExpectedAlarm.NONE),
    /** All noise becomes four times as large. */
    NOISE("more noise", ExpectedAlarm.NONE),
    /** All devices become 15% to 65% slower, or faster by the same factor. */
    STEP("step", ExpectedAlarm.MODEL),
    /** All devices become slower by 0.25% with each measurement. */
    SLOPE("slope", ExpectedAlarm.MODEL),
    /** One device becomes 35% to 120% slower. */
    SLOW_DEVICE("one straggler", ExpectedAlarm.STRAGGLER);

    private final String title;
    private final ExpectedAlarm expected;

    SeriesKind(String title, ExpectedAlarm expected) {
      this.title = title;
      this.expected = expected;
    }

    /** Returns the display name. */
    String title() {
      return title;
    }

    /** Returns the alarm that a detector should raise. */
    ExpectedAlarm expected() {
      return expected;
    }
  }

  /** The alarm that a detector should raise after the onset. */
  enum ExpectedAlarm {
    /** No alarm. */
    NONE,
    /** The model is wrong. */
    MODEL,
    /** {@link ResidualSeries#SLOW_DEVICE} is a straggler. */
    STRAGGLER
  }

  private final SeriesKind kind;
  private final Random random;
  private final double size;
  private final double[] planDevices = new double[DEVICES];
  private double plan;
  private int spikes;
  private int time;

  /**
   * @param kind kind of the change
   * @param seed seed of all random draws
   */
  ResidualSeries(SeriesKind kind, long seed) {
    this.kind = kind;
    random = new Random(seed);
    // Discards the first draw, which is similar for consecutive seeds.
    random.nextLong();
    double uniform = random.nextDouble();
    size =
        switch (kind) {
          case STEP -> (random.nextBoolean() ? 1 : -1) * (0.14 + 0.36 * uniform);
          case SLOPE -> 0.0025;
          case SLOW_DEVICE -> 0.3 + 0.5 * uniform;
          default -> 0;
        };
  }

  /** Returns the residuals of the next measurement by device number. */
  SortedMap<Integer, Double> next() {
    if (time % PLAN == 0) {
      plan = PLAN_ERROR * random.nextGaussian();
      for (int d = 0; d < DEVICES; d++) {
        planDevices[d] = PLAN_DEVICE_ERROR * random.nextGaussian();
      }
    }
    boolean after = time >= ONSET;
    double noise = kind == SeriesKind.NOISE && after ? 4 : 1;
    double common = plan + noise * SHARED_NOISE * random.nextGaussian() + change(after);
    SortedMap<Integer, Double> residuals = new TreeMap<>();
    for (int d = 0; d < DEVICES; d++) {
      double own = planDevices[d] + noise * OWN_NOISE * random.nextGaussian();
      boolean slow = kind == SeriesKind.SLOW_DEVICE && after && d == SLOW_DEVICE;
      residuals.put(d, common + own + (slow ? size : 0));
    }
    time++;
    return residuals;
  }

  private double change(boolean after) {
    return switch (kind) {
      case STEP -> after ? size : 0;
      case SLOPE -> after ? size * (time - ONSET) : 0;
      case SPIKES -> spike();
      default -> 0;
    };
  }

  private double spike() {
    if (spikes == 0 && random.nextDouble() < 0.015) {
      spikes = 1 + random.nextInt(3);
    }
    if (spikes == 0) {
      return 0;
    }
    spikes--;
    return StrictMath.log(2 + 8 * random.nextDouble());
  }
}
