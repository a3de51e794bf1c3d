package io.shardtide.topology;

import static org.assertj.core.api.Assertions.assertThat;

import org.apache.kafka.streams.processor.api.MockProcessorContext;
import org.junit.jupiter.api.Test;

/** What others wait for is committed soon, and load does not turn into commits. */
class CommitPaceTest {
  private final MockProcessorContext<String, Object> context = new MockProcessorContext<>();
  private final CommitPace pace = new CommitPace(context);

  private boolean asked() {
    pace.done();
    boolean asked = context.committed();
    context.resetCommit();
    return asked;
  }

  @Test
  void the_first_write_after_a_pause_is_committed_at_once() {
    context.setCurrentSystemTimeMs(1_000);
    pace.written();
    assertThat(asked()).isTrue();
    context.setCurrentSystemTimeMs(1_000 + CommitPace.SPACING_MS);
    pace.written();
    assertThat(asked()).isTrue();
  }

  @Test
  void frequent_writes_share_commits() {
    context.setCurrentSystemTimeMs(1_000);
    pace.written();
    assertThat(asked()).isTrue();
    context.setCurrentSystemTimeMs(1_000 + CommitPace.SPACING_MS - 1);
    pace.written();
    assertThat(asked()).isFalse();
    context.setCurrentSystemTimeMs(1_000 + CommitPace.SPACING_MS);
    assertThat(asked()).isTrue();
    context.setCurrentSystemTimeMs(10_000);
    assertThat(asked()).as("nothing was written since").isFalse();
  }

  @Test
  void what_nobody_reads_waits_for_what_somebody_reads() {
    context.setCurrentSystemTimeMs(1_000);
    pace.changed();
    assertThat(asked()).isFalse();
    context.setCurrentSystemTimeMs(1_050);
    pace.changed();
    pace.written();
    assertThat(asked()).as("output that others read").isTrue();
    context.setCurrentSystemTimeMs(2_000);
    assertThat(asked()).as("all was committed").isFalse();
  }

  @Test
  void what_nobody_reads_waits_for_a_while_only() {
    context.setCurrentSystemTimeMs(1_000);
    pace.changed();
    context.setCurrentSystemTimeMs(1_000 + CommitPace.UNREAD_WAIT_MS - 1);
    pace.changed();
    assertThat(asked()).isFalse();
    context.setCurrentSystemTimeMs(1_000 + CommitPace.UNREAD_WAIT_MS);
    assertThat(asked()).isTrue();
  }

  @Test
  void commits_continue_after_the_clock_was_set_back() {
    context.setCurrentSystemTimeMs(1_000_000);
    pace.written();
    assertThat(asked()).isTrue();
    context.setCurrentSystemTimeMs(1_000);
    pace.written();
    assertThat(asked()).isTrue();
  }
}
