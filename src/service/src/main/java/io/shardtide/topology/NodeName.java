package io.shardtide.topology;

/**
 * Names of the topologies' nodes: sources, processors and sinks. They are part of the golden
 * descriptions and of Kafka's metrics.
 */
final class NodeName {
  // Sources
  static final String READ_CHANGES = "read-changes";
  static final String READ_PREDICTIONS = "read-predictions";
  static final String READ_STATUS = "read-status";

  /** After all others in the order of names, by which Kafka Streams numbers sub-topologies. */
  static final String TAKE_ACCEPTED = "take-accepted";

  static final String READ_SPEEDS = "read-speeds";
  static final String READ_PLANS = "read-plans";
  static final String READ_MEASURED = "read-measured";
  static final String READ_SAMPLES = "read-samples";
  static final String READ_ALARMS = "read-alarms";
  static final String READ_REQUESTS = "read-requests";
  static final String READ_POOLS = "read-pools";
  static final String READ_CURVES = "read-curves";
  static final String READ_FILLS = "read-fills";

  // Processors
  static final String APPLY_CHANGES = "apply-changes";
  static final String PLAN_GENERATIONS = "plan-generations";
  static final String COMPARE_COSTS = "compare-costs";
  static final String TRAIN_MODELS = "train-models";
  static final String PREDICT_CURVES = "predict-curves";
  static final String ALLOCATE_POOLS = "allocate-pools";
  static final String FORECAST_TABLES = "forecast-tables";

  // Sinks
  static final String WRITE_PREDICTIONS = "write-predictions";
  static final String WRITE_CURRENT_PREDICTIONS = "write-current-predictions";
  static final String WRITE_PLANS = "write-plans";
  static final String WRITE_CURRENT_PLANS = "write-current-plans";
  static final String WRITE_INFEASIBLE = "write-infeasible";
  static final String WRITE_ACCEPTED = "write-accepted";
  static final String WRITE_SAMPLES = "write-samples";
  static final String WRITE_ALARMS = "write-alarms";
  static final String WRITE_SPEEDS = "write-speeds";
  static final String WRITE_MODELS = "write-models";
  static final String WRITE_DECISIONS = "write-decisions";
  static final String WRITE_REQUESTS = "write-requests";
  static final String WRITE_CURVES = "write-curves";
  static final String WRITE_ALLOCATIONS = "write-allocations";
  static final String WRITE_CURRENT_ALLOCATIONS = "write-current-allocations";
  static final String WRITE_FORECASTS = "write-forecasts";
  static final String WRITE_CURRENT_FORECASTS = "write-current-forecasts";
  static final String WRITE_CHANGES = "write-changes";
  static final String WRITE_REJECTED = "write-rejected";
  static final String WRITE_QUARANTINE = "write-quarantine";

  private NodeName() {}
}
