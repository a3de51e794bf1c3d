package io.shardtide.state;

/**
 * The usual residuals of a series.
 *
 * @param center their median
 * @param noise their spread: a robust estimate of the standard deviation, 0 and more
 */
public record Baseline(double center, double noise) {}
