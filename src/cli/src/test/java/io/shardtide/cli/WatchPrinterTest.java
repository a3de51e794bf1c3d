package io.shardtide.cli;

import static org.assertj.core.api.Assertions.assertThat;

import io.shardtide.testing.Samples;
import io.shardtide.workload.RejectedEvent;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.util.Optional;
import org.junit.jupiter.api.Test;

class WatchPrinterTest {
  @Test
  void what_others_wrote_is_printed_as_data() {
    StringWriter out = new StringWriter();
    StringWriter err = new StringWriter();
    WatchPrinter printer = new WatchPrinter(new PrintWriter(out), new PrintWriter(err), false) {
          // As it is.
        };
    RejectedEvent rejected = Samples.rejected();
    printer.note("@|x y|@ was deleted\u001b[31m");
    printer.undecodable(
        new RejectedEvent(
            rejected.source(),
            rejected.workloadId(),
            rejected.reason(),
            "no @|x y|@ \u001b[31m\nskipped",
            Optional.empty(),
            Optional.empty()));
    printer.waiting(new IllegalStateException("@|x y|@ \u202e"));
    assertThat(out.toString()).isEqualTo("@|x y|@ was deleted\uFFFD[31m%n".formatted());
    assertThat(err.toString())
        .isEqualTo(
            "skipped: workload-changes-0@5: no @|x y|@ \uFFFD[31m\uFFFDskipped%nwaiting: @|x y|@ \uFFFD%n"
                .formatted());
  }
}
