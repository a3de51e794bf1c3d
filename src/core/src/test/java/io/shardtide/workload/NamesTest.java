package io.shardtide.workload;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.shardtide.plan.HotRows;
import io.shardtide.plan.OutOfRange;
import org.junit.jupiter.api.Test;

/** Characters are what people count: code points, of which some are two units of Java's strings. */
class NamesTest {
  private static final String CLAPPER = "\ud83c\udfac";

  @Test
  void a_name_has_up_to_255_characters_whatever_they_are() {
    for (String character : new String[] {"n", "\u00e9", "\u6f6e", CLAPPER}) {
      Names.check(character.repeat(255), "table name", RejectionReason.INVALID_TABLE_NAME);
      assertThatThrownBy(
              () ->
                  Names.check(
                      character.repeat(256), "table name", RejectionReason.INVALID_TABLE_NAME))
          .hasMessageStartingWith("table name must have 1 to 255 characters")
          .hasMessageEndingWith("it has 256 characters")
          .hasMessageContaining("got \"" + character.repeat(80) + "...\"");
    }
  }

  @Test
  void hot_rows_have_a_name_as_long_as_any() {
    assertThat(HotRows.canBeNamed(CLAPPER.repeat(244))).isTrue();
    assertThat(HotRows.canBeNamed(CLAPPER.repeat(245))).isFalse();
  }

  @Test
  void a_text_is_cut_between_characters() {
    assertThat(Names.cut("a" + CLAPPER + "b", 3)).isEqualTo("a" + CLAPPER + "b");
    assertThat(Names.cut("a" + CLAPPER + "bc", 2)).isEqualTo("a" + CLAPPER + "...");
    assertThat(Names.cut("a" + CLAPPER + "bc", 1)).isEqualTo("a...");
  }

  @Test
  void numbers_out_of_range_are_short() {
    assertThat(describe(Double.MIN_VALUE)).isEqualTo("a with rows of 4.94E-324 (trained: 1 to 2)");
    assertThat(describe(1.2345e-5)).isEqualTo("a with rows of 0.0000123 (trained: 1 to 2)");
    assertThat(describe(0.5)).isEqualTo("a with rows of 0.5 (trained: 1 to 2)");
    assertThat(describe(68_719_476_736.0))
        .isEqualTo("a with rows of 68700000000 (trained: 1 to 2)");
    assertThat(describe(5_000_000)).isEqualTo("a with rows of 5000000 (trained: 1 to 2)");
  }

  private static String describe(double value) {
    return new OutOfRange("a", "rows", value, 1, 2).describe();
  }
}
