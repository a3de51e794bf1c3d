/**
 * What the steps keep of a workload between two events: the history of its plans, windows of
 * residuals, speeds of devices, alarms, the progress of training.
 *
 * <p>Inputs: what the steps decided. Outputs: immutable values that are stored and that other steps
 * read.
 */
package io.shardtide.state;
