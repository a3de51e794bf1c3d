package io.shardtide.topology;

import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.streams.processor.StateRestoreListener;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Logs and counts the records that a topology reads from its changelogs before it processes a
 * partition. With standby replicas these are the last few of an instance that was killed.
 */
record RestoreLog(TopologyName topology, PlannerMetrics metrics) implements StateRestoreListener {
  private static final Logger log = LoggerFactory.getLogger(RestoreLog.class);

  @Override
  public void onRestoreStart(TopicPartition changelog, String store, long start, long end) {
    // Only the end counts.
  }

  @Override
  public void onBatchRestored(TopicPartition changelog, String store, long end, long records) {
    // Only the end counts.
  }

  @Override
  public void onRestoreEnd(TopicPartition changelog, String store, long records) {
    if (records > 0) {
      metrics.add(Metric.RECORDS_RESTORED, records, topology);
      log.info("Restored {} records of {}", records, changelog);
    }
  }
}
