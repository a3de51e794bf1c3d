package io.shardtide.bench;

import java.util.Random;
import java.util.SortedMap;
import java.util.TreeMap;

/**
 * Residuals (logarithms of measured over predicted cost) of devices whose truth is known, from a
 * seed. Before the change: noise of 2% that all devices share and 4% that each has; with each plan,
 * of 50 measurements, the model is off by another 2% for all and 3% for each device.
 */
public final class ResidualSeries {
  /** Devices of a series. */
  public static final int DEVICES = 4;

  /** Measurements of a series. */
  public static final int LENGTH = 400;

  /** When the change begins. */
  public static final int ONSET = 200;

  /** The device that becomes slow, in the kind where one does. */
  public static final int SLOW_DEVICE = 2;

  private static final int PLAN = 50;
  private static final double SHARED_NOISE = 0.02;
  private static final double OWN_NOISE = 0.04;
  private static final double PLAN_ERROR = 0.02;
  private static final double PLAN_DEVICE_ERROR = 0.03;

  /** What happens. */
  public enum SeriesKind {
    /** Nothing. */
    NOTHING("nothing", Wanted.NOTHING),
    /** 3% of the measurements, in bursts of one to three, are 2 to 10 times as large. */
    SPIKES("spikes", Wanted.NOTHING),
    /** All noise is four times as large from the onset on. */
    NOISE("heavier noise", Wanted.NOTHING),
    /** All devices are 15% to 65% slower, or as much faster, from the onset on. */
    STEP("step", Wanted.MODEL),
    /** All devices become slower by 0.25% with each measurement. */
    SLOPE("slope", Wanted.MODEL),
    /** One device is 35% to 120% slower from the onset on. */
    SLOW_DEVICE("one slow device", Wanted.STRAGGLER);

    private final String title;
    private final Wanted wanted;

    SeriesKind(String title, Wanted wanted) {
      this.title = title;
      this.wanted = wanted;
    }

    /** Returns the name for people. */
    public String title() {
      return title;
    }

    /** Returns the alarm that there should be. */
    public Wanted wanted() {
      return wanted;
    }
  }

  /** The alarm that there should be after the onset. */
  public enum Wanted {
    /** None. */
    NOTHING,
    /** That the model is wrong. */
    MODEL,
    /** That {@link ResidualSeries#SLOW_DEVICE} is slow. */
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
   * @param kind what happens
   * @param seed of all chance
   */
  public ResidualSeries(SeriesKind kind, long seed) {
    this.kind = kind;
    random = new Random(seed);
    // Consecutive seeds give similar first numbers.
    random.nextLong();
    double chance = random.nextDouble();
    size =
        switch (kind) {
          case STEP -> (random.nextBoolean() ? 1 : -1) * (0.14 + 0.36 * chance);
          case SLOPE -> 0.0025;
          case SLOW_DEVICE -> 0.3 + 0.5 * chance;
          default -> 0;
        };
  }

  /** Returns the residuals of the next measurement, by device. */
  public SortedMap<Integer, Double> next() {
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
