package io.shardtide.cli;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import java.util.Optional;
import java.util.OptionalDouble;
import org.junit.jupiter.api.Test;
import picocli.CommandLine.Help.Ansi;

class TableTest {
  @Test
  void a_reason_is_never_cut_and_a_name_is() {
    String reason =
        "columns of table \"queries\" must be a multiple of 4 between 4 and 4096, got 63; the rest stays";
    Table<String> table =
        new Table<>(List.of("w".repeat(100)))
            .left("workload", name -> name)
            .left("outcome", name -> "rejected")
            .left("", name -> reason);
    assertThat(table.toString())
        .contains("  rejected  " + reason + "\n")
        .contains("w".repeat(57))
        .doesNotContain("w".repeat(61));
  }

  @Test
  void numbers_that_are_missing_are_dashes() {
    assertThat(
            new Table<>(List.of(OptionalDouble.of(1234.5), OptionalDouble.empty()))
                .right("ms", "%,.2f", ms -> ms)
                .left("", ms -> Optional.empty()))
        .hasToString(
            """
                  ms
            1,234.50  -
                   -  -
            """);
  }

  /** A style is no part of a width, and marks and controls of data are data. */
  @Test
  void styles_change_no_width_and_data_has_none() {
    Table<Integer> table =
        new Table<>(List.of(1, 2))
            .left("@|bold name|@", row -> "@|red x|@\u001b[31m%s")
            .left("bar", row -> new Bar(4, 2, List.of(new Bar.Part("green", "#", row))))
            .right("n", row -> row);
    assertThat(table.show(Ansi.ON, 1).replaceAll("\u001b\\[[0-9;]*m", ""))
        .isEqualTo(
            """
            name              bar   n
            @|red x|@\uFFFD[31m%s  ##    1
            """);
    assertThat(table.toString()).endsWith("  ####  2\n");
  }
}
