/**
 * For programs on both sides of the planner. In flow changes from {@link
 * io.shardtide.client.WorkloadPublisher}, and what trainers say and measure; out come plans, to
 * {@link io.shardtide.client.PlanSubscriber}, and what became of each event.
 *
 * <p>Imports wire and domain, and no more than Kafka's clients, Avro and the registry's client: the
 * artifact with the classifier {@code client} holds this and what it imports, and neither Kafka
 * Streams nor TensorFlow.
 */
package io.shardtide.client;
