package io.shardtide.plan;

import io.shardtide.workload.Limits;
import io.shardtide.workload.RejectedException;
import io.shardtide.workload.RejectionReason;
import java.time.Instant;
import java.time.ZoneOffset;
import java.time.format.DateTimeFormatter;
import java.util.Comparator;
import java.util.List;
import java.util.Locale;

/**
 * How much slower than its peers a device is.
 *
 * @param device rank of the device, from 0
 * @param part what it does slowly
 * @param slowdown how many times as long it takes as a healthy device, 1 to {@value #MOST}. No
 *     device is faster than predicted: a lower bound of predicted costs holds for slow devices too
 * @param standardError standard error of {@code slowdown}, at least 0
 * @param since when the measurement was made that raised the alarm
 */
public record DeviceSpeed(
    int device, CostPart part, double slowdown, double standardError, Instant since) {
  /** The largest factor between a measured and a predicted cost that is plausible. */
  public static final double MOST = 100;

  private static final DateTimeFormatter MINUTE =
      DateTimeFormatter.ofPattern("HH:mm", Locale.ROOT).withZone(ZoneOffset.UTC);

  /** By device, computation first. */
  public static final Comparator<DeviceSpeed> ORDER =
      Comparator.comparingInt(DeviceSpeed::device).thenComparing(DeviceSpeed::part);

  /**
   * @throws RejectedException if a value is outside its range
   */
  public DeviceSpeed {
    Limits.of(RejectionReason.INVALID_SPEEDS, "a speed").atLeast("device", device, 0);
    Limits.of(RejectionReason.INVALID_SPEEDS, "device " + device)
        .within("slowdown", slowdown, 1, MOST)
        .within("standard error of the slowdown", standardError, 0, MOST);
  }

  /** Describes the speed, for people: "device 5 computes 1.5 times slower since 14:02 UTC". */
  public String describe() {
    return String.format(
        Locale.ROOT,
        "device %d %s %.1f times slower since %s UTC",
        device,
        part.verb(),
        slowdown,
        MINUTE.format(since));
  }

  /** Returns the same speed of another device. */
  public DeviceSpeed of(int other) {
    return new DeviceSpeed(other, part, slowdown, standardError, since);
  }

  /** Returns the speeds of those devices that a cluster has. */
  public static List<DeviceSpeed> within(List<DeviceSpeed> slow, int devices) {
    return slow.stream().filter(speed -> speed.device() < devices).toList();
  }
}
