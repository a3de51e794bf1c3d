package io.shardtide.cost;

/**
 * Predicted communication of a step when all devices begin together. Holds its arrays without a
 * copy.
 *
 * @param forwardMs forward communication of each device in milliseconds
 * @param backwardMs backward communication of each device in milliseconds
 */
@SuppressWarnings("ArrayRecordComponent") // The search creates thousands and compares none.
public record CommunicationCost(double[] forwardMs, double[] backwardMs) {}
