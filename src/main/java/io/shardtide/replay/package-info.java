/**
 * Reads what a planner left on the log, makes its plans again, and says why they are as they are.
 *
 * <p>In flow: {@link io.shardtide.replay.LogRecords}, from files or, given by the caller, from a
 * cluster. Out flow: plans, and how they compare with those on record. Runs the steps of {@code
 * planning}; knows no clock, no Kafka and no TensorFlow, which is handed in where tables have to be
 * predicted anew. Imports {@code planning}, {@code wire}, {@code cost} and {@code domain}.
 */
package io.shardtide.replay;
