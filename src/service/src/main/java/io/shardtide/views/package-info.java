/**
 * What the dashboard shows, kept up to date from the log. Input: the records of the planner's
 * topics, from {@link io.shardtide.log.TopicReader}. Output: views, which are immutable records
 * that the dashboard shows as JSON, and an update for each view that changes.
 *
 * <p>Only reads. Summaries of the latest plans are in memory; the plans stay on the log.
 */
package io.shardtide.views;
