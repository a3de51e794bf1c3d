package io.shardtide.learning;

import io.shardtide.domain.AcceptedStatus;
import io.shardtide.domain.FeedbackState;
import io.shardtide.domain.ResidualWindow;
import io.shardtide.domain.ShardingPlan;
import io.shardtide.domain.VersionedTable;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;

/** State of the feedback step, in memory. */
public final class MemoryFeedbackStore implements FeedbackStore {
  private final Map<String, Object> entries = new TreeMap<>();

  /** Returns all that is remembered, under keys of any form. */
  public Map<String, Object> entries() {
    return new TreeMap<>(entries);
  }

  private static String key(String kind, String workloadId, String entry) {
    return kind + "|" + workloadId + "|" + entry;
  }

  private <T> Optional<T> get(Class<T> type, String key) {
    return Optional.ofNullable(type.cast(entries.get(key)));
  }

  @Override
  public FeedbackState header(String workloadId) {
    return get(FeedbackState.class, key("header", workloadId, "")).orElse(FeedbackState.NONE);
  }

  @Override
  public void putHeader(String workloadId, FeedbackState header) {
    entries.put(key("header", workloadId, ""), header);
  }

  @Override
  public Optional<AcceptedStatus> accepted(String workloadId) {
    return get(AcceptedStatus.class, key("accepted", workloadId, ""));
  }

  /** Stores what planning says of which plan runs. */
  public void putAccepted(AcceptedStatus accepted) {
    entries.put(key("accepted", accepted.workloadId(), ""), accepted);
  }

  @Override
  public Optional<VersionedTable> table(String workloadId, String name) {
    return get(VersionedTable.class, key("table", workloadId, name));
  }

  @Override
  public void putTable(String workloadId, VersionedTable table) {
    entries.put(key("table", workloadId, table.table().name()), table);
  }

  @Override
  public void removeTable(String workloadId, String name) {
    entries.remove(key("table", workloadId, name));
  }

  @Override
  public Optional<ShardingPlan> plan(String workloadId, String planId) {
    return get(ShardingPlan.class, key("plan", workloadId, planId));
  }

  @Override
  public void putPlan(ShardingPlan plan) {
    entries.put(key("plan", plan.workloadId(), plan.planId()), plan);
  }

  @Override
  public void removePlan(String workloadId, String planId) {
    entries.remove(key("plan", workloadId, planId));
  }

  @Override
  public Optional<ResidualWindow> window(String workloadId, String series) {
    return get(ResidualWindow.class, key("window", workloadId, series));
  }

  @Override
  public void putWindow(String workloadId, String series, ResidualWindow window) {
    entries.put(key("window", workloadId, series), window);
  }

  @Override
  public void removeWindows(String workloadId) {
    entries.keySet().removeIf(key -> key.startsWith(key("window", workloadId, "")));
  }
}
