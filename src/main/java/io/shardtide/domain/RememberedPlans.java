package io.shardtide.domain;

import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.function.Consumer;

/** Which plans of a workload are remembered, so that a trainer can report on them. */
public final class RememberedPlans {
  /** At one plan a second, what half a minute brings. */
  public static final int MOST = 32;

  private RememberedPlans() {}

  /**
   * Remembers a plan as the latest, and forgets what is too old and does not run.
   *
   * @param before ids of the plans that are remembered, the latest last
   * @param adopted the plan that the trainer adopted, which is never forgotten
   * @param planId the plan
   * @param forget hears the id of each plan that is forgotten
   * @return the ids that are remembered now, the latest last
   */
  public static List<String> with(
      List<String> before, Optional<String> adopted, String planId, Consumer<String> forget) {
    List<String> plans = new ArrayList<>(before);
    plans.remove(planId);
    plans.add(planId);
    for (int i = 0; plans.size() > MOST; ) {
      if (adopted.equals(Optional.of(plans.get(i)))) {
        i++;
      } else {
        forget.accept(plans.remove(i));
      }
    }
    return plans;
  }
}
