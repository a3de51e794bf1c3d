/**
 * Tables that grow: the history of how many ids a table has, a forecast of it, and the capacities
 * that hashed tables need.
 *
 * <p>In: reports of fill, by their own times, and descriptions of tables. Out: forecasts with their
 * uncertainty, and decisions to give tables other capacities. No Kafka, no clock and no random
 * numbers: the same reports in the same order give the same forecasts and decisions.
 */
package io.shardtide.growth;
