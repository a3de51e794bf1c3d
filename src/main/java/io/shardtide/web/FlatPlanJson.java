package io.shardtide.web;

import com.fasterxml.jackson.annotation.JsonUnwrapped;
import com.fasterxml.jackson.databind.module.SimpleModule;
import io.shardtide.domain.Move;
import io.shardtide.domain.Overlap;
import io.shardtide.domain.Region;
import io.shardtide.domain.Shard;

/** Writes plans in JSON without the nesting of the Java types, as Avro records have them. */
final class FlatPlanJson extends SimpleModule {
  private static final long serialVersionUID = 1;

  FlatPlanJson() {
    setMixInAnnotation(Shard.class, RegionUnwrapped.class);
    setMixInAnnotation(Overlap.class, RegionUnwrapped.class);
    setMixInAnnotation(Move.class, OverlapUnwrapped.class);
  }

  private interface RegionUnwrapped {
    @JsonUnwrapped
    Region region();
  }

  private interface OverlapUnwrapped {
    @JsonUnwrapped
    Overlap overlap();
  }
}
