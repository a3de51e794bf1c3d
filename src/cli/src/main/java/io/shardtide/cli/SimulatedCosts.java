package io.shardtide.cli;

import io.shardtide.client.Endpoint;
import io.shardtide.log.StartPosition;
import io.shardtide.log.TopicReader;
import io.shardtide.wire.TopicType;
import java.util.HashMap;
import java.util.Map;
import java.util.function.BiConsumer;
import java.util.function.Consumer;

/**
 * Which cost models were trained on simulated costs, and which throughput curves they predicted.
 * Plans and allocations do not say it, so that it is read from the log when an unknown one comes.
 * One thread calls it.
 */
final class SimulatedCosts implements AutoCloseable {
  private final Consumer<String> report;
  private final Late<Boolean> models;
  private final Late<String> modelOfCurve;

  /**
   * Connects nowhere yet.
   *
   * @param endpoint where the curves and models are
   * @param report takes a line if they cannot be read
   */
  SimulatedCosts(Endpoint endpoint, Consumer<String> report) {
    this.report = report;
    models =
        new Late<>(
            endpoint,
            TopicType.COST_MODELS,
            (bundle, found) -> found.put(bundle.modelId(), bundle.card().simulated()));
    modelOfCurve =
        new Late<>(
            endpoint,
            TopicType.THROUGHPUT_CURVES,
            (curve, found) -> curve.curve().ifPresent(c -> found.put(c.id(), c.modelId())));
  }

  /** Returns whether a model was trained on simulated costs; false if that cannot be found out. */
  boolean ofModel(String modelId) {
    return models.get(modelId, false);
  }

  /** Returns whether a curve has simulated costs; false if that cannot be found out. */
  boolean ofCurve(String curveId) {
    return ofModel(modelOfCurve.get(curveId, ""));
  }

  @Override
  public void close() {
    models.reader.close();
    modelOfCurve.reader.close();
  }

  /** What a topic says of ids. */
  private final class Late<T> {
    private final Map<String, T> found = new HashMap<>();
    private final TopicReader reader;
    private boolean opened;
    private boolean unreadable;

    <V> Late(Endpoint endpoint, TopicType<V> topic, BiConsumer<V, Map<String, T>> each) {
      reader =
          endpoint
              .reader()
              .handle(
                  endpoint.topics().of(topic),
                  StartPosition.BEGINNING,
                  (position, writtenAt, value) -> each.accept(value, found))
              .onUndecodable(record -> {});
    }

    T get(String id, T otherwise) {
      if (!id.isEmpty() && !found.containsKey(id) && !unreadable) {
        read();
        found.putIfAbsent(id, otherwise);
      }
      return found.getOrDefault(id, otherwise);
    }

    private void read() {
      try {
        if (!opened) {
          reader.open();
          opened = true;
        }
        reader.readToEnd();
      } catch (RuntimeException e) {
        // Any error: plans and allocations are shown all the same.
        unreadable = true;
        report.accept("whether costs are simulated is not known: %s".formatted(e.getMessage()));
      }
    }
  }
}
