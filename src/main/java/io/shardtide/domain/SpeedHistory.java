package io.shardtide.domain;

import java.time.Instant;
import java.util.Objects;
import java.util.Optional;

/**
 * What feedback stores of a device that is slow, or was slow lately.
 *
 * @param device number of the device in its replica group, from 0
 * @param part what it does or did slowly
 * @param slow its published speed; empty if it recovered
 * @param episodes how often it became slow, at least 1; forgotten with this history
 * @param fast measurements since it recovered
 */
public record SpeedHistory(
    int device, CostPart part, Optional<DeviceSpeed> slow, int episodes, int fast) {
  /** Checks what must be there. */
  public SpeedHistory {
    Objects.requireNonNull(part, "part");
    Objects.requireNonNull(slow, "slow");
  }

  /** Returns the history of a device that was never slow. */
  public static SpeedHistory none(int device, CostPart part) {
    return new SpeedHistory(device, part, Optional.empty(), 0, 0);
  }

  /**
   * Returns this with an estimate of the speed.
   *
   * @param since when the device became slow, if it was not
   */
  public SpeedHistory slow(double slowdown, double standardError, Instant since) {
    return new SpeedHistory(
        device,
        part,
        Optional.of(
            new DeviceSpeed(
                device, part, slowdown, standardError, slow.map(DeviceSpeed::since).orElse(since))),
        slow.isPresent() ? episodes : episodes + 1,
        0);
  }

  /** Returns this after the device recovered. */
  public SpeedHistory recovered() {
    return new SpeedHistory(device, part, Optional.empty(), episodes, 0);
  }

  /** Returns this after another measurement of the device, which is not slow. */
  public SpeedHistory measuredFast() {
    return new SpeedHistory(device, part, slow, episodes, fast + 1);
  }
}
