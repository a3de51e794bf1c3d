package io.shardtide.bench.soak;

import io.shardtide.testing.EarlierVersion;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** From the last released version to this one, then with a part that only this one has. */
@Tag("nightly")
class UpgradeIT extends RollingUpgrade {
  @Test
  void planners_are_upgraded_under_load() throws Exception {
    replaceUnderLoad(EarlierVersion.released(), present());
    turnOnGrowth();
  }
}
