package io.shardtide.cli;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

class TextTableTest {
  @Test
  void a_reason_is_never_cut_and_a_name_is() {
    String reason =
        "columns of table \"queries\" must be a multiple of 4 between 4 and 4096, got 63; the rest stays";
    TextTable table = new TextTable("workload", "outcome", "");
    table.add("w".repeat(100), "rejected", reason);
    assertThat(table.toString())
        .contains("  rejected  " + reason + "\n")
        .contains("w".repeat(57))
        .doesNotContain("w".repeat(61));
  }
}
