/**
 * The library for programs that use the planner. Publishers of table and cluster changes use {@link
 * io.shardtide.client.WorkloadPublisher}, those of pools {@link io.shardtide.client.PoolPublisher}.
 * Trainers receive plans from {@link io.shardtide.client.PlanSubscriber} and report to {@link
 * io.shardtide.client.TrainerReports}; {@link io.shardtide.client.AllocationSubscriber} tells them
 * which nodes of a pool they have.
 *
 * <p>The artifact with the classifier {@code client} holds what is needed here; it needs neither
 * Kafka Streams nor TensorFlow.
 */
package io.shardtide.client;
