package io.shardtide.views;

import java.util.Optional;

/**
 * A change of the views.
 *
 * @param event its kind: {@code workload}, {@code deleted}, {@code pool}, {@code event} or {@code
 *     statistics}
 * @param key what it replaces: of the updates with one key only the latest counts; empty for events
 * @param data the new row, event or statistics
 */
public record ViewUpdate(String event, Optional<String> key, Object data) {
  static ViewUpdate ofRow(String event, String kind, String id, Object data) {
    return new ViewUpdate(event, Optional.of(kind + " " + id), data);
  }

  /** Returns the planner's statistics, sent once a second. */
  public static ViewUpdate of(PlannerStatistics statistics) {
    return new ViewUpdate("statistics", Optional.of("statistics"), statistics);
  }
}
