package io.shardtide.bench.soak;

/** A documented guarantee that {@link SoakChecker} checks, in the words of its report. */
public enum Guarantee {
  /** Kafka's acknowledgement, with the position that it names. */
  ACKNOWLEDGED_ON_LOG("acknowledged records are on the log"),
  /** Idempotent producers, also where the sender does not know whether a record was written. */
  SENT_ONCE("records are on the log as often as sent, at most"),
  /** An event is rejected, or applied: once, and in the order of its partition. */
  APPLIED_ONCE("events are applied once, in order, or rejected"),
  /** Rejections name a record of an input topic, each at most once and in its order. */
  REJECTED_ONCE("rejected records are reported once"),
  /** What was planted as bad is rejected, and nothing valid without a documented reason. */
  RIGHTLY_REJECTED("bad records are rejected, valid ones are not"),
  /** Predictions of a generation are written in a row, complete, and by each model once. */
  PREDICTIONS_COMPLETE("predictions are complete, once a model"),
  /** A plan, an infeasible workload, a failure or a deletion answers each generation, once. */
  GENERATIONS_ANSWERED("generations are answered once, without gap"),
  /** A plan's id is the hash of its content. */
  PLAN_IDS("plan ids are those of the content"),
  /** A plan continues an earlier plan of its workload. */
  PLAN_CHAIN("plans continue the plan before"),
  /** Only committed predictions are planned. */
  PLANS_OF_COMMITTED("planned generations are on the log"),
  /** A plan is a function of the log. */
  PLANS_REPLAYED("plans are equal when replayed"),
  /** The compacted topic of plans. */
  CURRENT_PLANS("current-plans has the last plans"),
  /** The compacted topic of predictions. */
  CURRENT_PREDICTIONS("current-predictions has the last ones"),
  /** What the dashboards show once nothing changes. */
  DASHBOARDS("dashboards show the last plans"),
  /** What publishers were told. */
  ANSWERS_TRUE("answers to publishers are true"),
  /** A measurement becomes samples once, and none if it is rejected. */
  SAMPLES_ONCE("measurements become samples once");

  private final String sentence;

  Guarantee(String sentence) {
    this.sentence = sentence;
  }

  /** Returns what is guaranteed, in a few words. */
  public String sentence() {
    return sentence;
  }
}
