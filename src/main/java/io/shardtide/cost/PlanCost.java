package io.shardtide.cost;

/**
 * Predicted cost of one step, per device and of the whole plan. Holds its arrays without a copy.
 *
 * @param computeMs computation of each device in milliseconds
 * @param forwardCommMs forward exchange of each device in milliseconds, waiting included
 * @param backwardCommMs backward exchange of each device in milliseconds
 * @param predictedMs the largest sum of the three of any device, in milliseconds
 */
@SuppressWarnings(
    "ArrayRecordComponent") // The search makes these by the thousand; nobody compares them.
public record PlanCost(
    double[] computeMs, double[] forwardCommMs, double[] backwardCommMs, double predictedMs) {}
