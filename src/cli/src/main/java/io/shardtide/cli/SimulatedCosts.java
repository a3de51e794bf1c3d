package io.shardtide.cli;

import static io.shardtide.wire.TopicType.COST_MODELS;
import static io.shardtide.wire.TopicType.THROUGHPUT_CURVES;

import io.shardtide.client.Endpoint;
import io.shardtide.wire.TopicType;
import java.io.IOException;
import java.util.HashMap;
import java.util.Map;
import java.util.function.Consumer;

/**
 * Which cost models were trained on simulated costs, and which throughput curves they predicted.
 * Plans and allocations do not say it, so that it is read from the log when an unknown one comes.
 * One thread calls it.
 */
final class SimulatedCosts implements AutoCloseable {
  private final Endpoint endpoint;
  private final Consumer<String> report;
  private final Map<String, Boolean> simulated = new HashMap<>();
  private final Map<String, String> modelOfCurve = new HashMap<>();
  private KafkaLogRecords log;
  private boolean unreadable;

  /**
   * Connects nowhere yet.
   *
   * @param endpoint where the curves and models are
   * @param report takes a line if they cannot be read
   */
  SimulatedCosts(Endpoint endpoint, Consumer<String> report) {
    this.endpoint = endpoint;
    this.report = report;
  }

  /** Returns whether a model was trained on simulated costs; false if that cannot be found out. */
  boolean ofModel(String modelId) {
    return find(
        modelId,
        simulated,
        false,
        COST_MODELS,
        bundle -> simulated.put(bundle.modelId(), bundle.card().simulated()));
  }

  /** Returns whether a curve has simulated costs; false if that cannot be found out. */
  boolean ofCurve(String curveId) {
    return ofModel(
        find(
            curveId,
            modelOfCurve,
            "",
            THROUGHPUT_CURVES,
            report -> report.curve().ifPresent(of -> modelOfCurve.put(of.id(), of.modelId()))));
  }

  private <V, T> T find(
      String id, Map<String, T> known, T otherwise, TopicType<V> topic, Consumer<V> each) {
    if (!id.isEmpty() && !known.containsKey(id) && !unreadable) {
      try {
        log = log == null ? new KafkaLogRecords(endpoint) : log;
        log.readNow(topic, (value, writtenAt) -> each.accept(value));
      } catch (IOException | RuntimeException e) {
        // Any error: plans and allocations are shown all the same.
        unreadable = true;
        report.accept("whether costs are simulated is not known: %s".formatted(e.getMessage()));
      }
      known.putIfAbsent(id, otherwise);
    }
    return known.getOrDefault(id, otherwise);
  }

  @Override
  public void close() {
    if (log != null) {
      log.close();
    }
  }
}
