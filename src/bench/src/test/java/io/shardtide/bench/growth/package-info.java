/**
 * Hashed tables that grow for a simulated year, without Kafka: what the planner's forecasts and
 * resizes are worth.
 *
 * <p>In: seeded growth. Out: results. Runs the real steps with their state in memory.
 */
package io.shardtide.bench.growth;
