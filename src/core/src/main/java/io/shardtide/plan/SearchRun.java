package io.shardtide.plan;

import java.time.Instant;

/**
 * The run of the search that found a plan.
 *
 * @param evaluations predicted computations of a device
 * @param searchMillis duration of the search in milliseconds; not part of a plan's id
 * @param createdAt when the plan was created; not part of a plan's id
 */
public record SearchRun(long evaluations, double searchMillis, Instant createdAt) {}
