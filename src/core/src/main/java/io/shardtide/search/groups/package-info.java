/**
 * Chooses the replica groups of a plan: how many, and which ranks form one.
 *
 * <p>Inputs: tables with predictions for each way to form groups, the cluster, maybe a running
 * plan. Output: the best plan of a group found, with its groups. Each way is a problem of one group
 * that {@code search.local} solves; few are searched in full.
 */
package io.shardtide.search.groups;
