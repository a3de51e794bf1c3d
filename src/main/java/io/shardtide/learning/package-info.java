/**
 * What is learned from measured costs: which samples are trained on, when, and whether the result
 * takes over.
 *
 * <p>In flow: {@link io.shardtide.cost.CostSample} and {@link io.shardtide.domain.DriftAlarm}. Out
 * flow: {@link io.shardtide.domain.ModelDecision}. Plain Java without clock, chance or Kafka; what
 * trains is given. Imports {@code cost} and {@code domain}.
 */
package io.shardtide.learning;
