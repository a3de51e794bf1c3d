package io.shardtide.cli;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import me.tongfei.progressbar.DelegatingProgressBarConsumer;
import me.tongfei.progressbar.ProgressBar;
import org.junit.jupiter.api.Test;

class ProgressTest {
  private final List<String> lines = new CopyOnWriteArrayList<>();

  private ProgressBar bar(long steps) {
    return Progress.builder("Measuring", steps)
        .setConsumer(new DelegatingProgressBarConsumer(lines::add, 60))
        .build();
  }

  private String last() {
    return lines.get(lines.size() - 1);
  }

  @Test
  void without_a_total_only_what_is_done_and_the_time_are_shown() {
    try (ProgressBar bar = bar(-1)) {
      bar.stepTo(1234).setExtraMessage("2 alarms");
    }
    assertThat(last()).matches("Measuring: 1,234 done in 0:00:\\d\\d 2 alarms");
    try (ProgressBar bar = bar(-1)) {
      bar.setExtraMessage("x".repeat(100));
    }
    assertThat(last()).hasSize(60);
  }

  @Test
  void with_a_total_the_time_left_is_shown() {
    try (ProgressBar bar = bar(4)) {
      bar.stepTo(4);
    }
    assertThat(last()).matches("Measuring 100% \\[=+] 4/4 \\(0:00:\\d\\d / 0:00:00\\) ?");
  }

  @Test
  void a_late_bar_appears_after_two_seconds_and_learns_the_total() {
    AtomicLong now = new AtomicLong();
    try (LateBar late = new LateBar(this::bar, now::get)) {
      now.set(TimeUnit.SECONDS.toNanos(2));
      late.show(1, 0);
      assertThat(lines).isEmpty();
      now.incrementAndGet();
      late.show(2, 0);
      late.show(3, 6);
    }
    assertThat(last()).startsWith("Measuring  50% ").contains(" 3/6 ");
  }
}
