/**
 * The two steps that a live topology and a replay share: a change becomes predictions, predictions
 * become a plan.
 *
 * <p>In flow: events and predictions, and what a store remembers. Out flow: predictions, plans, or
 * why there are none. The steps know no Kafka: they read and write through {@link
 * io.shardtide.planning.WorkloadStore} and {@link io.shardtide.planning.PlanningStore}, and write
 * only when nothing can go wrong any more. Imports {@code domain}, {@code cost} and {@code search}.
 */
package io.shardtide.planning;
