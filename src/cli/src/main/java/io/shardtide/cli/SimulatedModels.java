package io.shardtide.cli;

import static io.shardtide.wire.TopicType.COST_MODELS;

import io.shardtide.client.Endpoint;
import io.shardtide.log.StartPosition;
import io.shardtide.log.TopicReader;
import java.util.HashMap;
import java.util.Map;
import java.util.function.Consumer;

/**
 * Which cost models were trained on simulated costs. Plans do not say it, so that the models are
 * read from the log when a plan of an unknown one comes. One thread calls it.
 */
final class SimulatedModels {
  private final Endpoint endpoint;
  private final Consumer<String> report;
  private final Map<String, Boolean> known = new HashMap<>();
  private boolean unreadable;

  /**
   * @param endpoint where the models are
   * @param report takes a line if they cannot be read
   */
  SimulatedModels(Endpoint endpoint, Consumer<String> report) {
    this.endpoint = endpoint;
    this.report = report;
  }

  /** Returns whether a model was trained on simulated costs; false if that cannot be found out. */
  boolean contains(String modelId) {
    if (!known.containsKey(modelId) && !unreadable) {
      read();
      known.putIfAbsent(modelId, false);
    }
    return known.getOrDefault(modelId, false);
  }

  private void read() {
    try (TopicReader reader =
        endpoint
            .reader()
            .handle(
                endpoint.topics().of(COST_MODELS),
                StartPosition.BEGINNING,
                (position, writtenAt, bundle) ->
                    known.put(bundle.modelId(), bundle.card().simulated()))
            .onUndecodable(record -> {})) {
      reader.open();
      reader.readToEnd();
    } catch (RuntimeException e) {
      // Any error: plans are shown all the same.
      unreadable = true;
      report.accept("whether costs are simulated is not known: %s".formatted(e.getMessage()));
    }
  }
}
