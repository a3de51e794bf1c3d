/**
 * Learning from measured costs: compares them with predictions, detects drift and stragglers,
 * selects training samples, and decides whether a retrained model replaces the current one.
 *
 * <p>In: predictions, plans, plan statuses, measured costs, stored state. Out: training samples,
 * alarms and decisions, or the reason why a measurement is rejected. No Kafka, no clock and no
 * random numbers; the retraining job is injected. The same records in the same order give the same
 * samples and alarms.
 */
package io.shardtide.learn;
