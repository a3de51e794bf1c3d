package io.shardtide.workload;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.shardtide.plan.CollectiveCodec;
import java.util.ArrayList;
import java.util.List;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class CommCodecTest {
  private static final ClusterSpec CLUSTER = new ClusterSpec(4, 100, 64, 2, "h100");

  private static void assertRejected(ThrowingCallable action, String text) {
    assertThatThrownBy(action)
        .isInstanceOfSatisfying(
            RejectedException.class,
            e -> assertThat(e.reason()).isEqualTo(RejectionReason.INVALID_CLUSTER))
        .hasMessage(text);
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      textBlock =
          """
          0   | 0       | 1   | bytes per element of codec "c" must be above 0 and at most 8, got 0.0
          8.5 | 0       | 1   | bytes per element of codec "c" must be above 0 and at most 8, got 8.5
          NaN | 0       | 1   | bytes per element of codec "c" must be above 0 and at most 8, got NaN
          2   | -1      | 1   | GB/s of codec "c" must be 0 or between 0.001 and 1000000, got -1.0
          2   | NaN     | 1   | GB/s of codec "c" must be 0 or between 0.001 and 1000000, got NaN
          2   | 2000000 | 1   | GB/s of codec "c" must be 0 or between 0.001 and 1000000, got 2000000.0
          2   | 0       | 0   | density of codec "c" must be above 0 and at most 1, got 0.0
          2   | 0       | 1.1 | density of codec "c" must be above 0 and at most 1, got 1.1
          2   | 0       | NaN | density of codec "c" must be above 0 and at most 1, got NaN
          """)
  void a_value_outside_of_its_range_is_rejected(
      double bytes, double speed, double density, String text) {
    assertRejected(() -> new CommCodec("c", bytes, speed, density, true, List.of()), text);
  }

  @Test
  void names_and_directions_are_checked() {
    assertThatThrownBy(() -> new CommCodec("", 2))
        .isInstanceOf(RejectedException.class)
        .hasMessageStartingWith("name of a codec must have 1 to 255 characters");
    assertThat(CommCodec.directionsOf("c", List.of("backward", "forward")))
        .containsExactly(Direction.BACKWARD, Direction.FORWARD);
    assertRejected(
        () -> CommCodec.directionsOf("c", List.of("forward", "up")),
        "direction of codec \"c\" must be forward or backward, got \"up\"");
  }

  private static ClusterSpec with(List<CommCodec> codecs) {
    return ClusterSpecBuilder.builder(CLUSTER).codecs(codecs).build();
  }

  @Test
  void codecs_of_a_cluster_have_different_names_and_no_order() {
    CommCodec half = new CommCodec("fp16", 2);
    CommCodec quarter = new CommCodec("fp8", 1);
    assertThat(with(List.of(half, quarter))).isEqualTo(with(List.of(quarter, half)));
    assertThat(with(List.of())).isEqualTo(CLUSTER);
    assertRejected(
        () -> with(List.of(half, quarter, new CommCodec("fp16", 1))),
        "codecs of a cluster must have different names, got \"fp16\" twice");
    List<CommCodec> nine = new ArrayList<>();
    for (int i = 0; i < 9; i++) {
      nine.add(new CommCodec("c" + i, 2));
    }
    assertRejected(
        () -> with(nine), "number of codecs of a cluster must be between 0 and 8, got 9");
    assertThat(with(nine.subList(0, 8)).codecs()).hasSize(8);
  }

  @Test
  void a_codec_whose_numbers_cannot_be_added_is_for_all_but_reduce_scatters() {
    CommCodec codec = new CommCodec("int8", 1, 0, 1, false, List.of());
    assertThat(codec.serves(ShardScope.DEVICE, Direction.FORWARD)).isTrue();
    assertThat(codec.serves(ShardScope.NODE, Direction.FORWARD)).isFalse();
    assertThat(codec.serves(ShardScope.CLUSTER, Direction.FORWARD)).isFalse();
    assertThat(codec.serves(ShardScope.CLUSTER, Direction.BACKWARD)).isTrue();
    assertThat(new CommCodec("fp16", 2).serves(ShardScope.CLUSTER, Direction.FORWARD)).isTrue();
    assertThat(new CommCodec("fp16", 2).serves(ShardScope.COPIES, Direction.BACKWARD)).isFalse();
    CommCodec forward = new CommCodec("fp16", 2, 0, 1, true, List.of(Direction.FORWARD));
    assertThat(forward.serves(ShardScope.DEVICE, Direction.BACKWARD)).isFalse();
    assertThatThrownBy(() -> new CollectiveCodec(ShardScope.DEVICE, Direction.BACKWARD, forward, 1))
        .hasMessage(
            "codec of a collective must serve it and save at least 0 ms, got codec fp16 in the"
                + " backward collectives of scope device, 1.0 ms");
  }

  /** 4 bytes of each of a million numbers at 2 GB/s are 2 ms. */
  @Test
  void coding_takes_as_long_as_its_speed_says() {
    assertThat(new CommCodec("c", 2, 2, 1, true, List.of()).codingMs(1_000_000)).isEqualTo(2);
    assertThat(new CommCodec("c", 2).codingMs(1_000_000)).isZero();
    assertThat(new CommCodec("c", 8, 0, 0.25, true, List.of()).sentBytesPerElement()).isEqualTo(2);
  }
}
