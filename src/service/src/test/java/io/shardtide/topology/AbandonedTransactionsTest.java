package io.shardtide.topology;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import org.junit.jupiter.api.Test;

class AbandonedTransactionsTest {
  private static final String APPLICATION = "p.workload";
  private static final String LIVING = APPLICATION + "-00000000-1111-2222-3333-444444444444";
  private static final String STOPPED = APPLICATION + "-55555555-1111-2222-3333-444444444444";

  private static List<String> abandoned(List<String> open, String... members) {
    return AbandonedTransactions.abandoned(APPLICATION, open, List.of(members));
  }

  @Test
  void a_transaction_of_a_thread_without_a_member_is_abandoned() {
    assertThat(
            abandoned(
                List.of(STOPPED + "-1", LIVING + "-2", LIVING + "-1"),
                LIVING + "-StreamThread-1-consumer"))
        .as("of the stopped process, and of a failed thread of the living one")
        .containsExactly(LIVING + "-2", STOPPED + "-1");
    assertThat(abandoned(List.of(STOPPED + "-1"))).containsExactly(STOPPED + "-1");
  }

  @Test
  void transactions_of_others_are_not_ended() {
    assertThat(
            abandoned(
                List.of(
                    "p.workload-x" + STOPPED.substring(APPLICATION.length()) + "-1",
                    "p.workload-cold-start",
                    "q." + STOPPED + "-1")))
        .isEmpty();
  }

  @Test
  void members_with_a_client_id_of_the_operators_cannot_be_told_apart() {
    assertThat(abandoned(List.of(STOPPED + "-1"), "planner-StreamThread-1-consumer")).isEmpty();
  }
}
