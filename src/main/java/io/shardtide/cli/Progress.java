package io.shardtide.cli;

import java.time.Duration;
import me.tongfei.progressbar.ProgressBar;
import me.tongfei.progressbar.ProgressBarBuilder;
import me.tongfei.progressbar.ProgressBarStyle;
import picocli.CommandLine;

/** Progress bars on standard error: what has been done, and how long the rest will take. */
final class Progress {
  private Progress() {}

  static ProgressBar bar(String name, long steps) {
    boolean terminal = CommandLine.Help.Ansi.AUTO.enabled();
    return new ProgressBarBuilder()
        .setTaskName(name)
        .setInitialMax(steps)
        // A pipe or a log gets a line now and then, not twenty a second.
        .setUpdateIntervalMillis(terminal ? 100 : 5_000)
        .setStyle(ProgressBarStyle.ASCII)
        .setEtaFunction(
            state -> {
              long done = state.getCurrent();
              return done == 0
                  ? java.util.Optional.empty()
                  : java.util.Optional.of(
                      Duration.ofMillis(
                          state.getElapsedAfterStart().toMillis()
                              * (state.getMax() - done)
                              / done));
            })
        .build();
  }
}
