package io.shardtide.cli;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import java.util.stream.IntStream;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.constraints.IntRange;
import org.junit.jupiter.api.Test;

class PrintedTest {
  @Test
  void a_sentence_is_broken_at_spaces_and_a_word_only_if_it_is_longer_than_a_line() {
    assertThat(Printed.wrap("  one two\n three  ", 7)).containsExactly("one two", "three");
    assertThat(Printed.wrap("a 123456789 b", 4)).containsExactly("a", "1234", "5678", "9 b");
    assertThat(Printed.wrap("\u8868\ud83d\ude00 \ud83d\ude00", 2))
        .containsExactly("\u8868\ud83d\ude00", "\ud83d\ude00");
    assertThat(Printed.wrap("", 4)).isEmpty();
  }

  /** Separators of lines that are no spaces, too, are data. */
  @Property(tries = 300)
  void nothing_of_a_sentence_is_lost(
      @ForAll String text, @ForAll @IntRange(min = 1, max = 9) int n) {
    List<String> lines = Printed.wrap(text, n);
    assertThat(String.join("", lines).replaceAll("\\s", ""))
        .isEqualTo(text.strip().replaceAll("\\s", ""));
    assertThat(lines).allMatch(line -> line.codePointCount(0, line.length()) <= n);
  }

  @Test
  void of_a_list_the_first_values_are_shown_and_how_many_others_there_are() {
    Printed out = new Printed();
    out.list("- ", IntStream.range(0, 23).mapToObj(i -> "@|red v|@" + i).toList());
    assertThat(out.toString().lines())
        .hasSize(21)
        .startsWith("- @|red v|@0")
        .endsWith("- ... and 3 more");
  }
}
