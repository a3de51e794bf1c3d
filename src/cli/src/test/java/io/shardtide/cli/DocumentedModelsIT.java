package io.shardtide.cli;

import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Commands of the pages on plans, from files and from the log, and on models. */
@Tag("nightly")
class DocumentedModelsIT extends DocumentedPages {
  @Test
  void every_documented_command_works() throws Exception {
    runAll(
        List.of(
            "docs/FILES.md",
            "docs/GROWTH.md",
            "docs/MODELS.md",
            "docs/PLANNING.md",
            "docs/TORCHREC.md",
            "examples/torchrec/README.md"));
  }
}
