package io.shardtide.cli;

import static io.shardtide.wire.TopicType.COST_PREDICTIONS;
import static io.shardtide.wire.TopicType.REJECTED_EVENTS;
import static io.shardtide.wire.TopicType.WORKLOAD_CHANGES;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.shardtide.client.Endpoint;
import io.shardtide.client.WorkloadPublisher;
import io.shardtide.embedded.EmbeddedKafka;
import io.shardtide.testing.Fixtures;
import io.shardtide.testing.RegistryFront;
import io.shardtide.testing.SharedCluster;
import io.shardtide.wire.Topics;
import io.shardtide.workload.WorkloadChange;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Stream;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.NewTopic;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Publishers whose registry answers with an error, or hardly: one line that says what to do. */
@Timeout(120)
class PublishRegistryIT {
  private static final String PREFIX = SharedCluster.freshPrefix();
  private static final Topics TOPICS = Topics.withPrefix(PREFIX);

  private static final String CHECK_ADDRESS =
      "; check that the address is a schema registry's, and that it can be reached from here";

  private static EmbeddedKafka kafka;
  private static RegistryFront front;

  @BeforeAll
  static void start() throws Exception {
    kafka = SharedCluster.kafka();
    // Nothing is behind it: each test says what it answers.
    front = new RegistryFront("http://127.0.0.1:1", Optional.empty(), Optional.empty(), "");
    try (Admin admin = Admin.create(Map.of("bootstrap.servers", kafka.bootstrapServers()))) {
      admin
          .createTopics(
              Stream.of(
                      TOPICS.of(WORKLOAD_CHANGES),
                      TOPICS.of(COST_PREDICTIONS),
                      TOPICS.of(REJECTED_EVENTS))
                  .map(topic -> new NewTopic(topic.name(), 1, (short) 1))
                  .toList())
          .all()
          .get();
    }
  }

  @AfterAll
  static void stop() throws Exception {
    front.close();
  }

  @AfterEach
  void recover() {
    front.well();
  }

  private static WorkloadChange event() {
    return Fixtures.event(Fixtures.upsert("user", 1_000, 64, 2));
  }

  private static WorkloadPublisher publisher() {
    return WorkloadPublisher.connect(
        Endpoint.of(kafka.bootstrapServers(), front.url())
            .withPrefix(PREFIX)
            .withTimeout(Duration.ofSeconds(2)),
        "test");
  }

  /** The line that both a program and a person get, for each answer. */
  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "401 | 401   | answers 401, as told; check the user and the password, registry.basic.auth.user.info",
        "403 | 40301 | answers 403, as told (40301); this user needs the right to read the subject, and planners to write it",
        "404 | 40401 | answers 404, as told (40401); planners register their schemas when they start: check the address and the prefix, and upgrade planners before clients",
        "408 | 40801 | does not answer: 408, as told (40801); try again later; the registry's log tells more",
        "429 | 42901 | does not answer: 429, as told (42901); try again later; the registry's log tells more",
        "429 | 429   | does not answer: 429, as told; try again later; the registry's log tells more",
        "500 | 50001 | does not answer: 500, as told (50001); try again later; the registry's log tells more",
        "503 | 50301 | does not answer: 503, as told (50301); try again later; the registry's log tells more",
        "504 | 504   | does not answer: 504, as told; try again later; the registry's log tells more",
      })
  void an_error_of_the_registry_is_one_line(int status, int code, String line) {
    front.fail(request -> true, status, code);
    publishFails(line);
  }

  private static void publishFails(String... parts) {
    try (WorkloadPublisher publisher = publisher()) {
      assertThatThrownBy(() -> publisher.publish(event()))
          .hasMessageContaining("he schema registry at " + front.url() + " ")
          .satisfies(e -> assertThat(e.getMessage()).contains(parts))
          .satisfies(e -> isShort(e.getMessage()));
    }
  }

  private static void isShort(String line) {
    assertThat(line).doesNotContain("\n", "\"fields\"", "namespace").hasSizeLessThan(500);
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "200 | does not answer: text that is not the registry's JSON",
        "404 | answers 404, not in the registry's format",
        "502 | does not answer: 502, not in the registry's format"
      })
  void a_page_of_HTML_is_quoted_on_one_line(int status, String told) {
    front.fail(request -> true, status, "<html>\n" + "Sign in, please. ".repeat(500) + "</html>");
    publishFails(told);
  }

  @Test
  void a_registry_that_sends_a_byte_now_and_then_is_late() {
    front.drip(request -> true);
    publishFails("does not answer: no complete answer within 0.7 s" + CHECK_ADDRESS);
  }

  private record PublishResult(int status, String out, List<String> err) {}

  private static PublishResult publish(String... more) {
    StringWriter out = new StringWriter();
    StringWriter err = new StringWriter();
    int status =
        Shardtide.run(
            new PrintWriter(out),
            new PrintWriter(err),
            Stream.concat(
                    Stream.of(
                        "publish",
                        "--bootstrap",
                        kafka.bootstrapServers(),
                        "--registry",
                        front.url(),
                        "--prefix",
                        PREFIX,
                        "--workload",
                        "ads",
                        "--upsert",
                        "name=user,rows=1000,columns=64,poolingFactor=5"),
                    Stream.of(more))
                .toArray(String[]::new));
    return new PublishResult(status, out.toString(), err.toString().lines().toList());
  }

  @Test
  void the_command_prints_the_line_and_ends_with_status_1() {
    front.fail(request -> true, 403, 40301);
    PublishResult refused = publish();
    assertThat(refused.status()).isEqualTo(1);
    assertThat(refused.out()).isEmpty();
    assertThat(refused.err())
        .singleElement()
        .asString()
        .startsWith("shardtide: Event ")
        .contains(" was not sent, after 0 that were: ")
        .endsWith(
            "the schema registry at %s answers 403, as told (40301); this user needs the right to read the subject, and planners to write it"
                .formatted(front.url()));
    isShort(refused.err().get(0));
  }

  /** The registry sends bytes for a minute; each of three attempts has a third of the time. */
  @Test
  void the_time_out_of_the_command_bounds_a_slow_registry() {
    front.drip(request -> true);
    PublishResult late = publish("--timeout", "3");
    assertThat(late.status()).isEqualTo(1);
    assertThat(late.err())
        .singleElement()
        .asString()
        .endsWith(
            "The schema registry at %s does not answer: no complete answer within 1.0 s%s"
                .formatted(front.url(), CHECK_ADDRESS));
    assertThat(front.met()).as("attempts").isBetween(1, 3);
  }
}
