package io.shardtide.cli;

import java.time.Duration;
import java.time.temporal.ChronoUnit;
import java.util.Optional;
import java.util.function.Consumer;
import me.tongfei.progressbar.ConsoleProgressBarConsumer;
import me.tongfei.progressbar.DefaultProgressBarRenderer;
import me.tongfei.progressbar.DelegatingProgressBarConsumer;
import me.tongfei.progressbar.ProgressBar;
import me.tongfei.progressbar.ProgressBarBuilder;
import me.tongfei.progressbar.ProgressBarStyle;
import me.tongfei.progressbar.ProgressState;
import picocli.CommandLine;

/**
 * Progress on standard error: what is done and for how long it has run; if the total is known, also
 * a bar and the time left.
 */
final class Progress {
  private Progress() {}

  /**
   * Starts to show progress.
   *
   * @param steps the total, or -1 if it is not known
   */
  static ProgressBar bar(String name, long steps) {
    return builder(name, steps).build();
  }

  /** Returns what shows the name of each step when it begins. */
  static Consumer<String> steps(ProgressBar bar) {
    return name -> {
      bar.setExtraMessage(name);
      bar.step();
    };
  }

  static ProgressBarBuilder builder(String name, long steps) {
    boolean terminal = CommandLine.Help.Ansi.AUTO.enabled();
    return new ProgressBarBuilder()
        .setTaskName(name)
        .setInitialMax(steps)
        // A pipe or a log gets a line now and then, not twenty a second.
        .setUpdateIntervalMillis(terminal ? 100 : 5_000)
        .setConsumer(
            terminal
                ? new ConsoleProgressBarConsumer(System.err)
                : new DelegatingProgressBarConsumer(System.err::println))
        .setRenderer(new Renderer());
  }

  private static final class Renderer extends DefaultProgressBarRenderer {
    Renderer() {
      super(
          ProgressBarStyle.ASCII, "", 1, false, null, ChronoUnit.SECONDS, true, Renderer::timeLeft);
    }

    private static Optional<Duration> timeLeft(ProgressState state) {
      long done = state.getCurrent();
      return done == 0
          ? Optional.empty()
          : Optional.of(
              state.getElapsedAfterStart().multipliedBy(state.getMax() - done).dividedBy(done));
    }

    @Override
    public String render(ProgressState state, int maxLength) {
      if (!state.isIndefinite()) {
        return super.render(state, maxLength);
      }
      Duration elapsed = state.getTotalElapsed();
      String line =
          "%s: %,d done in %d:%02d:%02d %s"
              .formatted(
                  state.getTaskName(),
                  state.getCurrent(),
                  elapsed.toHours(),
                  elapsed.toMinutesPart(),
                  elapsed.toSecondsPart(),
                  state.getExtraMessage())
              .stripTrailing();
      return line.substring(0, Math.min(line.length(), maxLength));
    }
  }
}
