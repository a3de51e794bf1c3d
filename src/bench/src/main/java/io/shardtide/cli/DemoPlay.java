package io.shardtide.cli;

import io.shardtide.plan.InfeasibleWorkload;
import io.shardtide.plan.ShardingPlan;
import io.shardtide.state.DriftAlarm;
import io.shardtide.state.ModelDecision;
import io.shardtide.workload.Change;
import io.shardtide.workload.ClusterSpec;
import io.shardtide.workload.RejectedEvent;
import io.shardtide.workload.UsableMemory;
import io.shardtide.workload.WorkloadChange;
import java.io.PrintWriter;
import java.time.Duration;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.OptionalLong;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;

/**
 * Plays the demo's script: publishes its changes, shows the answers, lets the simulated trainer run
 * each plan; then the machine changes, and the planner learns.
 */
final class DemoPlay {
  private static final Duration PAUSE = Duration.ofSeconds(3);

  /** How long to wait for an answer; longer than any takes. */
  private static final Duration ANSWER_TIMEOUT = Duration.ofSeconds(30);

  /** How long to wait for a background search: some seconds, more on a busy machine. */
  private static final Duration SEARCH_TIMEOUT = Duration.ofMinutes(2);

  /** Reports of steps on which the drift detectors learn what is usual: 30, and one to spare. */
  private static final int USUAL_REPORTS = 31;

  /**
   * Reports after the machine changed, at most. The alarm came after 5 to 8, a better model after
   * 34 to 160.
   */
  private static final int CHANGED_REPORTS = 400;

  /** Pause between two reports, so that they can be watched on the dashboard. */
  private static final long REPORT_PAUSE_MS = 50;

  private static final String BACKGROUND = "the background search found a better plan";

  private final PrintWriter console;
  private final PlanText view;
  private final DemoClient client;
  private final DemoTrainer trainer;
  private final DemoPlanner planner;
  private final CountDownLatch stop;
  private final long start;
  private final OptionalLong end;
  private final String last;
  private Optional<ShardingPlan> current = Optional.empty();
  private Optional<UsableMemory> memory = Optional.empty();

  /**
   * @param stop ends the play when it is counted down
   * @param start when the demo started, by {@link System#nanoTime}
   * @param end when it ends if the script has ended; empty for when it is interrupted
   * @param last what it says when the script has ended
   */
  DemoPlay(
      PrintWriter console,
      PlanText view,
      DemoClient client,
      DemoTrainer trainer,
      DemoPlanner planner,
      CountDownLatch stop,
      long start,
      OptionalLong end,
      String last) {
    this.console = console;
    this.view = view;
    this.client = client;
    this.trainer = trainer;
    this.planner = planner;
    this.stop = stop;
    this.start = start;
    this.end = end;
    this.last = last;
  }

  private boolean stopped() {
    return stop.getCount() == 0;
  }

  /** Plays all scenes, lets the machine change, and waits for the end. */
  void play(List<DemoScript.Scene> scenes) throws Exception {
    for (int s = 0; s < scenes.size(); s++) {
      play(scenes.get(s));
      if (stopped() || pause(scenes.size() - s)) {
        return;
      }
      showBackgroundPlans();
    }
    awaitBackgroundSearch();
    learn();
    if (!stopped()) {
      console.println(last);
    }
    stop.await(
        end.isEmpty() ? Long.MAX_VALUE : Math.max(0, end.getAsLong() - System.nanoTime()),
        TimeUnit.NANOSECONDS);
  }

  /**
   * Publishes a scene's event and shows the answer, also past the end: so that the files are
   * complete.
   */
  private void play(DemoScript.Scene scene) throws Exception {
    showBackgroundPlans();
    memory = scene.event().flatMap(DemoPlay::memory).or(() -> memory);
    long published = System.nanoTime();
    client.publish(scene.event());
    Object answer = answer();
    double millis = (System.nanoTime() - published) / 1e6;
    if (answer instanceof ShardingPlan plan) {
      boolean first = current.isEmpty();
      show(plan, scene.title(), OptionalDouble.of(millis));
      if (first) {
        console.printf("First plan %.1f s after the start.%n%n", (System.nanoTime() - start) / 1e9);
      }
    } else if (answer instanceof InfeasibleWorkload infeasible) {
      console.println(view.infeasible(infeasible, scene.title()));
    } else if (answer instanceof RejectedEvent rejected) {
      console.println(view.rejected(rejected, scene.title()));
    } else if (!stopped()) {
      console.printf("No answer within %d s: %s%n%n", ANSWER_TIMEOUT.toSeconds(), scene.title());
    }
  }

  /** Shows a plan; the trainer runs it. */
  private void show(ShardingPlan plan, String title, OptionalDouble millis)
      throws InterruptedException {
    console.print(view.summary(plan, current, memory, title, millis));
    current = Optional.of(plan);
    double measured = trainer.run(plan, ANSWER_TIMEOUT);
    console.printf("  %s%n%n", measured("the simulated trainer runs it: a step takes", measured));
  }

  private String measured(String what, double stepMs) {
    double predicted = current.orElseThrow().predictedMs();
    return "%s %.2f ms, predicted %.2f ms (off by %.0f %%)"
        .formatted(what, stepMs, predicted, 100 * Math.abs(predicted - stepMs) / stepMs);
  }

  /** Waits for the background search that follows the last change, and shows its plan. */
  private void awaitBackgroundSearch() throws InterruptedException {
    long until = System.nanoTime() + SEARCH_TIMEOUT.toNanos();
    while (planner.backgroundSearches() > 0 && System.nanoTime() < until) {
      if (stop.await(50, TimeUnit.MILLISECONDS)) {
        return;
      }
    }
    // A plan follows the end of its search by a moment.
    stop.await(500, TimeUnit.MILLISECONDS);
    showBackgroundPlans();
  }

  /** Shows the plans of background searches that have arrived. */
  private void showBackgroundPlans() throws InterruptedException {
    Object next = client.answers().poll();
    while (next != null) {
      if (next instanceof ShardingPlan plan) {
        show(plan, BACKGROUND, OptionalDouble.empty());
      }
      next = client.answers().poll();
    }
  }

  /** The machine changes; the trainer reports until the planner has learned. */
  private void learn() throws Exception {
    if (current.isEmpty()) {
      return;
    }
    int usual = 0;
    while (usual < USUAL_REPORTS && !report()) {
      usual++;
    }
    trainer.change();
    console.printf(
        "The simulated machine changes: %s as slow. The trainer reports what steps take now.%n",
        DemoTrainer.CHANGE.shown());
    for (int r = 1; r <= CHANGED_REPORTS && !stopped(); r++) {
      double stepMs = trainer.run(current.orElseThrow(), ANSWER_TIMEOUT);
      if (r == 1) {
        console.printf("  %s%n", measured("a step takes", stepMs));
      }
      Object learned = client.learned().poll(REPORT_PAUSE_MS, TimeUnit.MILLISECONDS);
      if (learned instanceof DriftAlarm alarm) {
        console.printf(
            "  after %d reports: drift alarm, the model is wrong (%s measured %.2f times what it"
                + " predicts, usually %.2f)%n",
            r,
            alarm.quantity().name().toLowerCase(Locale.ROOT).replace('_', ' '),
            alarm.recentRatio(),
            alarm.usualRatio());
      } else if (learned instanceof ModelDecision decision) {
        console.printf("  after %d reports: model retrained; %s%n%n", r, decision.reason());
        if (decision.published()) {
          showLearned(decision.challengerId().orElseThrow());
          return;
        }
      }
    }
  }

  /** Shows the plan of the retrained model, and that of the background search after it. */
  private void showLearned(String modelId) throws Exception {
    Object next = await();
    while (next instanceof ShardingPlan plan && !plan.origin().modelId().equals(modelId)) {
      show(plan, BACKGROUND, OptionalDouble.empty());
      next = await();
    }
    if (next instanceof ShardingPlan plan) {
      show(plan, "planned again with the retrained model", OptionalDouble.empty());
      awaitBackgroundSearch();
    }
  }

  /** Reports a step of the running plan; returns whether the demo was stopped. */
  private boolean report() throws InterruptedException {
    trainer.run(current.orElseThrow(), ANSWER_TIMEOUT);
    return stop.await(REPORT_PAUSE_MS, TimeUnit.MILLISECONDS);
  }

  /** Waits between two scenes; returns whether the demo was stopped. */
  private boolean pause(int scenesLeft) throws InterruptedException {
    long nanos =
        end.isEmpty()
            ? PAUSE.toNanos()
            : Math.min(
                PAUSE.toNanos(),
                Math.max(0, end.getAsLong() - System.nanoTime()) / (scenesLeft + 1));
    return stop.await(nanos, TimeUnit.NANOSECONDS);
  }

  /** Waits for the answer to a change; shows a plan of the generation before it that comes late. */
  private Object answer() throws InterruptedException {
    Object answer = await();
    while (answer instanceof ShardingPlan plan
        && current.map(ShardingPlan::generation).equals(Optional.of(plan.generation()))) {
      show(plan, BACKGROUND, OptionalDouble.empty());
      answer = await();
    }
    return answer;
  }

  private Object await() throws InterruptedException {
    long until = System.nanoTime() + ANSWER_TIMEOUT.toNanos();
    while (!stopped() && System.nanoTime() < until) {
      Object answer = client.answers().poll(50, TimeUnit.MILLISECONDS);
      if (answer != null) {
        return answer;
      }
    }
    return null;
  }

  private static Optional<UsableMemory> memory(WorkloadChange event) {
    return event.changes().stream()
        .filter(Change.ClusterSet.class::isInstance)
        .map(change -> ((Change.ClusterSet) change).cluster())
        .map(ClusterSpec::usableMemory)
        .findFirst();
  }
}
