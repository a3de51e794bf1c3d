package io.shardtide.bench.soak;

import io.shardtide.testing.EarlierVersion;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** From this version back to the last released one, with what this one wrote. */
@Tag("nightly")
class DowngradeIT extends RollingUpgrade {
  @Test
  void planners_are_downgraded_under_load() throws Exception {
    startOnce(EarlierVersion.released());
    replaceUnderLoad(present(), EarlierVersion.released());
  }
}
