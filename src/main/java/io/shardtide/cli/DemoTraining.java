package io.shardtide.cli;

import io.shardtide.client.Endpoint;
import io.shardtide.domain.ShardingPlan;
import io.shardtide.trainer.StepCosts;
import io.shardtide.trainer.live.LiveTrainer;
import java.io.PrintWriter;
import java.time.Instant;
import java.time.InstantSource;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;

/**
 * The reference trainer in the demo: adopts the plans of its workload and prints measured costs.
 */
final class DemoTraining implements LiveTrainer.Watcher, AutoCloseable {
  private static final int STEPS_PER_REPORT = 20;

  /** Small, because a batch updates hot rows hundreds of times. */
  private static final float LEARNING_RATE = 0.001f;

  private final Endpoint endpoint;
  private final BlockingQueue<TrainingReport> reports = new LinkedBlockingQueue<>();
  private LiveTrainer trainer;
  private long movedBytes;

  private record TrainingReport(
      String planId, long step, StepCosts costs, double loss, long movedBytes) {}

  /** The trainer starts at the first {@link #show}. */
  DemoTraining(Endpoint endpoint) {
    this.endpoint = endpoint;
  }

  private LiveTrainer start() {
    return LiveTrainer.start(
        endpoint,
        new LiveTrainer.LiveTrainerSettings(
            DemoScript.TRAINED,
            "demo-trainer",
            Instant.now().toString(),
            1,
            LEARNING_RATE,
            Runtime.getRuntime().availableProcessors(),
            STEPS_PER_REPORT),
        this,
        InstantSource.system());
  }

  @Override
  public void adopted(ShardingPlan plan, long step, long bytes) {
    movedBytes = bytes;
  }

  @Override
  public void measured(String planId, long step, StepCosts costs, double loss) {
    reports.add(new TrainingReport(planId, step, costs, loss, movedBytes));
  }

  /**
   * Waits until the trainer has measured a plan, and prints its costs.
   *
   * @param until end of the wait, by {@link System#nanoTime}
   */
  void show(ShardingPlan plan, PrintWriter console, long until) throws InterruptedException {
    if (trainer == null) {
      trainer = start();
    }
    while (System.nanoTime() < until) {
      trainer.check();
      TrainingReport report = reports.poll(50, TimeUnit.MILLISECONDS);
      if (report != null && report.planId().equals(plan.planId())) {
        double measured = report.costs().stepMs();
        console.printf(
            "  trained: adopted with %,.1f MiB moved; step %,d measured %.2f ms, predicted %.2f ms (off by %.0f %%),"
                + " log loss %.3f%n%n",
            report.movedBytes() / 1048576.0,
            report.step(),
            measured,
            plan.predictedMs(),
            100 * Math.abs(plan.predictedMs() - measured) / measured,
            report.loss());
        return;
      }
    }
    console.printf("  trained: no measurement in time%n%n");
  }

  @Override
  public void close() {
    if (trainer != null) {
      trainer.close();
    }
  }
}
