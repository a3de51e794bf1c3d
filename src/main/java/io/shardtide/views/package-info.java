/**
 * What people look at, kept up to date from the log. In flow plans, predictions, statuses,
 * measurements, samples, alarms, models, rejections and changes, as {@link
 * io.shardtide.log.TopicReader} hands them on; out come views: immutable records, ready to be
 * shown, and news of each that changed.
 *
 * <p>Reads only. Memory holds a line for each of the latest plans, and the log holds the plans.
 * Imports client, log, wire, learning, cost, domain.
 */
package io.shardtide.views;
