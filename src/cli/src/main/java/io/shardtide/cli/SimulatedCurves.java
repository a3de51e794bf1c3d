package io.shardtide.cli;

import static io.shardtide.wire.TopicType.THROUGHPUT_CURVES;

import io.shardtide.client.Endpoint;
import io.shardtide.log.StartPosition;
import io.shardtide.log.TopicReader;
import java.util.HashMap;
import java.util.Map;
import java.util.function.Consumer;

/**
 * Which throughput curves were predicted by models that were trained on simulated costs. An
 * allocation names its curves only, so that they are read from the log when an unknown one comes.
 * One thread calls it.
 */
final class SimulatedCurves implements AutoCloseable {
  private final TopicReader reader;
  private final SimulatedModels models;
  private final Consumer<String> report;
  private final Map<String, String> modelIds = new HashMap<>();
  private boolean opened;
  private boolean unreadable;

  /**
   * Connects nowhere yet.
   *
   * @param endpoint where the curves and models are
   * @param report takes a line if they cannot be read
   */
  SimulatedCurves(Endpoint endpoint, Consumer<String> report) {
    this.report = report;
    models = new SimulatedModels(endpoint, report);
    reader =
        endpoint
            .reader()
            .handle(
                endpoint.topics().of(THROUGHPUT_CURVES),
                StartPosition.BEGINNING,
                (position, writtenAt, curve) ->
                    curve.curve().ifPresent(c -> modelIds.put(c.id(), c.modelId())))
            .onUndecodable(record -> {});
  }

  /** Returns whether a curve has simulated costs; false if that cannot be found out. */
  boolean contains(String curveId) {
    if (!modelIds.containsKey(curveId) && !unreadable) {
      read();
    }
    return modelIds.containsKey(curveId) && models.contains(modelIds.get(curveId));
  }

  private void read() {
    try {
      if (!opened) {
        reader.open();
        opened = true;
      }
      reader.readToEnd();
    } catch (RuntimeException e) {
      // Any error: allocations are shown all the same.
      unreadable = true;
      report.accept("whether throughput is simulated is not known: %s".formatted(e.getMessage()));
    }
  }

  @Override
  public void close() {
    reader.close();
  }
}
