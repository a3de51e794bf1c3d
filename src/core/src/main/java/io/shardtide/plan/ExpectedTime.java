package io.shardtide.plan;

import java.time.Instant;
import java.util.Optional;

/**
 * When something is expected to happen, with a range of 90%.
 *
 * @param earliest it is earlier in 5% of cases
 * @param median it is earlier in half of the cases
 * @param latest it is later in 5% of cases; empty if that is more than half a year away
 */
public record ExpectedTime(Instant earliest, Instant median, Optional<Instant> latest) {}
