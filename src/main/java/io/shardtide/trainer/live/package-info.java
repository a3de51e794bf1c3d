/**
 * The reference trainer connected to Kafka: it receives the plans of its workload, adopts them
 * between two steps, and reports what it does and what it measures.
 *
 * <p>In: cost-predictions (table specs and cluster) and sharding-plans. Out: plan-status and
 * measured-costs. May import {@code trainer}, {@code client}, {@code log}, {@code wire}, {@code
 * cost} and {@code domain}.
 */
package io.shardtide.trainer.live;
