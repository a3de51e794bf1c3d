package io.shardtide.topology;

import java.util.Map;
import java.util.Properties;
import java.util.stream.Collectors;
import org.apache.kafka.common.Metric;
import org.apache.kafka.common.MetricName;
import org.apache.kafka.common.utils.Time;
import org.apache.kafka.streams.KafkaClientSupplier;
import org.apache.kafka.streams.KafkaStreams;
import org.apache.kafka.streams.Topology;

/**
 * Kafka Streams, without metrics of single stores. Those of RocksDB read its native memory whenever
 * somebody looks: of a store that another thread closes meanwhile, at a rebalance, that is freed
 * memory, and the process ends with SIGSEGV in {@code rocksdb::DBImpl::GetAggregatedIntProperty}. A
 * soak with a scrape a second met it.
 */
final class MeteredStreams extends KafkaStreams {
  private static final String STORES = "stream-state-metrics";

  MeteredStreams(Topology topology, Properties properties, KafkaClientSupplier clients, Time time) {
    super(topology, properties, clients, time);
  }

  @Override
  public Map<MetricName, ? extends Metric> metrics() {
    return super.metrics().entrySet().stream()
        .filter(metric -> !metric.getKey().group().equals(STORES))
        .collect(Collectors.toUnmodifiableMap(Map.Entry::getKey, Map.Entry::getValue));
  }
}
