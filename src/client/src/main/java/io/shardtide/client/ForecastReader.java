package io.shardtide.client;

import static io.shardtide.wire.TopicType.CURRENT_FORECASTS;

import io.shardtide.growth.TableForecasts;
import io.shardtide.log.TopicReader;
import java.util.Collections;
import java.util.SortedMap;
import java.util.TreeMap;

/**
 * Reads the latest forecasts of workloads' hashed tables, from the compacted topic
 * current-forecasts. Not safe for use by several threads.
 */
public final class ForecastReader implements AutoCloseable {
  private final TopicReader reader;
  private final SortedMap<String, TableForecasts> latest;

  private ForecastReader(Endpoint endpoint) {
    reader = endpoint.reader();
    latest = reader.latest(endpoint.topics().of(CURRENT_FORECASTS));
    reader.open();
  }

  /**
   * Connects.
   *
   * @param endpoint the cluster and the registry
   * @throws io.shardtide.log.MissingTopicException if the cluster does not have the topic: no
   *     planner with {@code growth.enabled=true} was started there
   * @throws io.shardtide.log.ClusterUnavailableException if the cluster does not answer
   */
  public static ForecastReader connect(Endpoint endpoint) {
    return new ForecastReader(endpoint);
  }

  /**
   * Reads what was written since the last call.
   *
   * @return the latest forecasts by workload id; none of a deleted workload, or of one without a
   *     report of how full its hashed tables are
   * @throws io.shardtide.log.ClusterUnavailableException if the cluster does not answer
   * @throws io.shardtide.wire.RegistryUnavailableException if the registry does not answer
   */
  public SortedMap<String, TableForecasts> read() {
    reader.readToEnd();
    return Collections.unmodifiableSortedMap(new TreeMap<>(latest));
  }

  /** Closes the connections. */
  @Override
  public void close() {
    reader.close();
  }
}
