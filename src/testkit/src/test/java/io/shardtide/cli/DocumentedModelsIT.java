package io.shardtide.cli;

import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Commands of the pages on planning from files, which train and evaluate models. */
@Tag("nightly")
class DocumentedModelsIT extends DocumentedPages {
  @Test
  void every_documented_command_works() throws Exception {
    runAll(
        List.of(
            "docs/PLANNING.md",
            "docs/MODELS.md",
            "docs/TORCHREC.md",
            "examples/torchrec/README.md"));
  }
}
