package io.shardtide.workload;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.shardtide.plan.OutOfRange;
import java.io.ByteArrayOutputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.util.HexFormat;
import java.util.List;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.constraints.Scale;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Bytes, hashes and numbers, as they are stored and as a person reads them. */
class TextsTest {
  /** The encoding that the ids of plans and models rely on, written by the JDK's own stream. */
  @Property(tries = 50)
  void a_hash_is_over_the_canonical_encoding(
      @ForAll long number,
      @ForAll @Scale(15) double fraction,
      @ForAll String text,
      @ForAll @Scale(15) float[] values,
      @ForAll List<String> items)
      throws Exception {
    CanonicalHash hash = new CanonicalHash("kind").put(number).put(fraction).put(text).put(values);
    ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    DataOutputStream out = new DataOutputStream(bytes);
    writeText(out, "kind");
    out.writeLong(number);
    out.writeDouble(fraction);
    writeText(out, text);
    out.writeLong(values.length);
    for (float value : values) {
      out.writeFloat(value);
    }
    out.writeLong(items.size());
    for (String item : items) {
      writeText(out, item);
    }
    assertThat(hash.putAll(items, hash::put).hex())
        .isEqualTo(
            HexFormat.of()
                .formatHex(MessageDigest.getInstance("SHA-256").digest(bytes.toByteArray())));
  }

  private static void writeText(DataOutputStream out, String text) throws IOException {
    byte[] utf8 = text.getBytes(StandardCharsets.UTF_8);
    out.writeLong(utf8.length);
    out.write(utf8);
  }

  @Test
  void an_id_is_shown_with_12_digits() {
    assertThat(CanonicalHash.shown("0123456789abc")).isEqualTo("0123456789ab");
    assertThat(CanonicalHash.shown("0123456789ab")).isEqualTo("0123456789ab");
    assertThat(CanonicalHash.shown("short")).isEqualTo("short");
  }

  @ParameterizedTest
  @CsvSource({
    "0, 0 B",
    "1023, 1023 B",
    "1024, 1.0 KiB",
    "-1536, -1.5 KiB",
    "1048576, 1.0 MiB",
    "3221225472, 3.0 GiB",
    "9223372036854775807, 8192.0 PiB"
  })
  void bytes_are_shown_in_the_largest_unit(long bytes, String text) {
    assertThat(ByteSizes.describe(bytes)).isEqualTo(text);
  }

  @Property(tries = 50)
  void bytes_are_equal_by_content_and_never_change(@ForAll byte[] content, @ForAll byte[] other) {
    byte[] original = content.clone();
    Bytes bytes = Bytes.copyOf(content);
    if (content.length > 0) {
      content[0]++;
      bytes.toArray()[0]++;
    }
    assertThat(bytes.toArray()).isEqualTo(original);
    assertThat(bytes).isEqualTo(Bytes.copyOf(original)).hasSameHashCodeAs(Bytes.copyOf(original));
    assertThat(bytes.equals(Bytes.copyOf(other)))
        .isEqualTo(java.util.Arrays.equals(original, other));
    assertThat((Object) bytes).isNotEqualTo(original);
  }

  @Test
  void bytes_show_their_number_and_the_first_16() {
    byte[] content = new byte[17];
    content[0] = (byte) 0xab;
    assertThat(Bytes.copyOf(content)).hasToString("17 bytes ab" + "00".repeat(15));
    // Equal contents have equal hash codes, others have others nearly always.
    assertThat(Bytes.copyOf(content).hashCode()).isNotEqualTo(Bytes.copyOf(new byte[2]).hashCode());
  }

  @Test
  void a_position_names_topic_partition_and_offset() {
    assertThat(new SourcePosition("workload-changes", 3, 42)).hasToString("workload-changes-3@42");
  }

  @Test
  void a_long_name_is_shown_in_part() {
    assertThat(Names.quote("x".repeat(80))).isEqualTo('"' + "x".repeat(80) + '"');
    assertThat(Names.quote("x".repeat(81))).isEqualTo('"' + "x".repeat(80) + "...\"");
    assertThat(Names.quote("a\nb")).isEqualTo("\"a\uFFFDb\"");
    assertThat(Names.quote(null)).isEqualTo("(none)");
  }

  @ParameterizedTest
  @CsvSource({
    "5000000, 100, 20000, 'a with rows of 5000000 (trained: 100 to 20000)', 250",
    "0.012345, 0.5, 1e9, 'a with rows of 0.0123 (trained: 0.5 to 1000000000)', 40.5",
    "123456789, 1, 9999999, 'a with rows of 123000000 (trained: 1 to 9999999)', 12.35",
    "0, 0.5, 3.14159, 'a with rows of 0 (trained: 0.5 to 3.14)', 2.247e307"
  })
  void a_value_outside_the_training_range_is_described(
      double value, double min, double max, String text, double factor) {
    OutOfRange outOfRange = new OutOfRange("a", "rows", value, min, max);
    assertThat(outOfRange.describe()).isEqualTo(text);
    assertThat(outOfRange.factor())
        .isCloseTo(factor, org.assertj.core.data.Percentage.withPercentage(0.1));
  }

  @Test
  void a_value_inside_the_training_range_is_refused() {
    for (double value : new double[] {1, 1.5, 2}) {
      assertThatThrownBy(() -> new OutOfRange("a", "rows", value, 1, 2))
          .hasMessage("value must be outside of 1.0 to 2.0, got " + value);
    }
    assertThat(new OutOfRange("a", "rows", 5, 0, 0).factor()).isGreaterThan(1);
  }

  @Test
  void the_value_that_is_farthest_out_comes_first() {
    OutOfRange ten = new OutOfRange("b", "rows", 10, 0, 1);
    OutOfRange below = new OutOfRange("a", "rows", 1, 20, 30);
    OutOfRange same = new OutOfRange("a", "columns", 10, 0, 1);
    OutOfRange subject = new OutOfRange("a", "rows", 10, 0, 1);
    assertThat(java.util.stream.Stream.of(ten, same, subject, below).sorted(OutOfRange.ORDER))
        .containsExactly(below, same, subject, ten);
  }
}
