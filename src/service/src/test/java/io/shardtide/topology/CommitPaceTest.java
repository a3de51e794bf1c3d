package io.shardtide.topology;

import static org.assertj.core.api.Assertions.assertThat;

import org.apache.kafka.streams.processor.api.MockProcessorContext;
import org.junit.jupiter.api.Test;

/** What others wait for is committed soon, and load does not turn into commits. */
class CommitPaceTest {
  private final MockProcessorContext<String, Object> context = new MockProcessorContext<>();
  private final CommitPace pace = new CommitPace(context);

  private boolean asked() {
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
    pace.tick();
    assertThat(asked()).isFalse();
    context.setCurrentSystemTimeMs(1_000 + CommitPace.SPACING_MS);
    pace.tick();
    assertThat(asked()).isTrue();
    context.setCurrentSystemTimeMs(10_000);
    pace.tick();
    assertThat(asked()).as("nothing was written since").isFalse();
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
