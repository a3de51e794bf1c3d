package io.shardtide.cost;

/**
 * Predicted exchanges that all devices begin together. Holds its arrays without a copy.
 *
 * @param forwardMs forward exchange of each device in milliseconds
 * @param backwardMs backward exchange of each device in milliseconds
 */
@SuppressWarnings(
    "ArrayRecordComponent") // The search makes these by the thousand; nobody compares them.
public record CommunicationCost(double[] forwardMs, double[] backwardMs) {}
