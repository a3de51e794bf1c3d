/**
 * What is learned from measured costs: whether they still are what a model predicts, and if not,
 * whether the model is wrong or a device is slow; which samples are trained on, when, and whether
 * the result takes over.
 *
 * <p>In flow: predictions, plans, statuses, measured costs, and what a store remembers. Out flow:
 * samples, alarms and decisions, or why a measurement is refused. Knows no Kafka, no clock and no
 * chance, and what trains is given: the same records in the same order give the same samples and
 * alarms. Imports {@code cost} and {@code domain}.
 */
package io.shardtide.learning;
