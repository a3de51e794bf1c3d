package io.shardtide.cli;

import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Commands of the pages on clients, replay and operating. */
@Tag("nightly")
class DocumentedCommandsIT extends DocumentedPages {
  @Test
  void every_documented_command_works() throws Exception {
    runAll(List.of("docs/CLIENTS.md", "docs/REPLAY.md", "docs/OPERATING.md"));
  }
}
