package io.shardtide.step;

import io.shardtide.plan.DeviceSpeed;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Optional;

/** Describes slow devices in the reason of a plan. */
final class SpeedTexts {
  private SpeedTexts() {}

  /**
   * Describes which devices became slow, changed their speed, or recovered.
   *
   * @param before slow devices before
   * @param now slow devices now
   * @param devices number of devices of the cluster; others are gone
   */
  static List<String> changes(List<DeviceSpeed> before, List<DeviceSpeed> now, int devices) {
    List<String> texts = new ArrayList<>();
    for (DeviceSpeed speed : now) {
      Optional<DeviceSpeed> known = find(before, speed);
      if (!known.equals(Optional.of(speed))) {
        texts.add(
            speed.describe()
                + known
                    .map(k -> String.format(Locale.ROOT, " (%.1f times before)", k.slowdown()))
                    .orElse(""));
      }
    }
    for (DeviceSpeed speed : before) {
      if (find(now, speed).isEmpty() && speed.device() < devices) {
        texts.add(
            "device %s %s at full speed again".formatted(speed.device(), speed.part().verb()));
      }
    }
    return Reasons.few(texts, " more");
  }

  /**
   * Describes what a plan gained.
   *
   * @param movedShards number of shards that move
   * @param runningMs predicted step of the running plan with the speeds of now, in milliseconds
   * @param plannedMs predicted step of the plan, in milliseconds
   */
  static String gain(int movedShards, double runningMs, double plannedMs) {
    if (movedShards == 0) {
      return ": no shard moved";
    }
    double percent = 100 * (1 - plannedMs / runningMs);
    return ": %s %s moved, %s%% gained"
        .formatted(
            movedShards,
            movedShards == 1 ? "shard" : "shards",
            String.format(Locale.ROOT, percent < 10 ? "%.1f" : "%.0f", percent));
  }

  private static Optional<DeviceSpeed> find(List<DeviceSpeed> speeds, DeviceSpeed like) {
    return speeds.stream().filter(speed -> DeviceSpeed.ORDER.compare(speed, like) == 0).findFirst();
  }
}
