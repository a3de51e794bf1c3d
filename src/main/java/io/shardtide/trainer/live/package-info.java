/**
 * The reference trainer on the event log: it subscribes to the plans of its workload, goes over to
 * them between two steps, and reports what it does and what it measures.
 *
 * <p>In: cost-predictions (for the tables' specs and the cluster) and sharding-plans. Out:
 * plan-status and measured-costs. May import {@code trainer}, {@code wire}, {@code cost} and {@code
 * domain}.
 */
package io.shardtide.trainer.live;
