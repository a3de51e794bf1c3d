package io.shardtide.config;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import io.shardtide.client.Endpoint;
import io.shardtide.growth.CapacityPolicy;
import io.shardtide.plan.ColumnCuts;
import io.shardtide.plan.SearchSettings;
import io.shardtide.pool.AllocationPolicy;
import io.shardtide.state.PlanningSettings;
import io.shardtide.state.TrainingPolicy;
import io.shardtide.state.TrainingPolicyBuilder;
import io.shardtide.wire.Extension;
import io.shardtide.workload.UnknownHardware;
import java.io.IOException;
import java.io.StringWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Properties;
import java.util.Set;
import java.util.regex.Pattern;
import net.jqwik.api.Arbitraries;
import net.jqwik.api.Arbitrary;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.Provide;
import org.assertj.core.api.InstanceOfAssertFactories;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Settings files: valid ones become settings, and all problems of the others are reported. */
class SettingsFileTest {
  static final String LEAST =
      """
      bootstrap.servers=kafka:9092
      schema.registry.url=http://registry:8081
      state.directory=state
      """;

  static ServiceSettings parse(String more) {
    return SettingsFile.parse("a.properties", LEAST + more, warning -> {}, (key, value) -> {});
  }

  static List<String> problems(String text) {
    return catchThrowableOfType(
            InvalidSettingsException.class,
            () -> SettingsFile.parse("a.properties", text, warning -> {}, (key, value) -> {}))
        .problems();
  }

  @Test
  void three_lines_are_enough() {
    assertThat(parse(""))
        .isEqualTo(
            new ServiceSettings(
                Endpoint.of("kafka:9092", "http://registry:8081"),
                new TopicSettings(6, 3),
                new StreamsSettings(Path.of("state"), 1, 1),
                List.of(),
                UnknownHardware.NEAREST,
                PlanningSettings.DEFAULTS,
                TrainingPolicy.DEFAULTS,
                Set.of(),
                AllocationPolicy.DEFAULTS,
                CapacityPolicy.DEFAULTS,
                new HttpSettings("127.0.0.1", 8080, Optional.empty())));
  }

  @Test
  void every_setting_reaches_its_record(@TempDir Path folder) throws IOException {
    Path a = Files.writeString(folder.resolve("a.avro"), "");
    Path b = Files.writeString(folder.resolve("b.avro"), "");
    Path token = Files.writeString(folder.resolve("token"), "a-token-that-nobody-guesses\n");
    ServiceSettings settings =
        SettingsFile.parse(
            "a.properties",
            """
            bootstrap.servers: k1:1 , [::1]:65535
            schema.registry.url = https://registry/path
            state.directory = /var/lib/a folder
            topics.prefix = team_a-1.
            topics.partitions = 12
            topics.replication = 2
            models = %s, %s
            threads = 4
            standby.replicas = 2
            planning.debounce.ms = 5
            planning.longest.wait.ms = 60000
            planning.quick.evaluations.per.table = 7
            planning.quick.repair.evaluations = 0
            planning.deep = TRUE
            planning.deep.evaluations.per.table = 10000000
            planning.deep.repair.evaluations = 10000000000
            planning.deep.after.ms = 86400000
            planning.deep.payback.steps = 2
            planning.deep.gain = 1
            planning.move.gigabytes.per.second = 1e-3
            planning.move.overhead.ms = 0
            planning.reshard.ms = 1000000
            planning.payback.steps = 1000000000000
            planning.risk = -3
            planning.exploration = 0.1
            training.enabled = false
            pools.enabled = true
            pools.adjusted.at.once = 2
            pools.fairness.loss = 1
            pools.adjustment.seconds = 0
            pools.payback.seconds = 1.5
            growth.enabled = true
            growth.lead.days = 0.5
            growth.cover.days = 7
            growth.warning.days = 180
            growth.least.hit.gain = 1
            training.samples = 7
            training.samples.after.drift = 1000000
            training.schedule.hours = 2
            training.gain = 0
            training.old.margin = 10
            training.seed = -3
            models.unknown.hardware = reject
            http.host = 0.0.0.0
            http.port = 0
            http.token.file = %s
            kafka.security.protocol = SASL_SSL
            kafka.main.consumer.max.poll.records = 10
            registry.basic.auth.user.info = user:secret
            """
                .formatted(a, b, token),
            warning -> {},
            (key, value) -> {});
    assertThat(settings)
        .isEqualTo(
            new ServiceSettings(
                new Endpoint(
                    "k1:1,[::1]:65535",
                    "https://registry/path",
                    "team_a-1.",
                    Map.of("security.protocol", "SASL_SSL", "main.consumer.max.poll.records", "10"),
                    Map.of("basic.auth.user.info", "user:secret")),
                new TopicSettings(12, 2),
                new StreamsSettings(Path.of("/var/lib/a folder"), 4, 2),
                List.of(a, b),
                UnknownHardware.REJECT,
                new PlanningSettings(
                    Duration.ofMillis(5),
                    Duration.ofMinutes(1),
                    new SearchSettings(
                        7, 0, 1e-3, 0, 1_000_000, 1_000_000_000_000L, ColumnCuts.EQUAL, -3),
                    Optional.of(
                        new SearchSettings(
                            10_000_000,
                            10_000_000_000L,
                            1e-3,
                            0,
                            1_000_000,
                            2,
                            ColumnCuts.EQUAL,
                            -3)),
                    Duration.ofDays(1),
                    1,
                    0.1),
                TrainingPolicyBuilder.builder()
                    .enabled(false)
                    .samples(7)
                    .samplesAfterDrift(1_000_000)
                    .schedule(Duration.ofHours(2))
                    .recent(2_000)
                    .old(2_000)
                    .gain(0)
                    .oldMargin(10)
                    .seed(-3)
                    .build(),
                Set.of(Extension.POOLS, Extension.GROWTH),
                new AllocationPolicy(2, 1, 0, 1.5, AllocationPolicy.DEFAULTS.solverIterations()),
                new CapacityPolicy(0.5, 7, 180, 1),
                new HttpSettings(
                    "0.0.0.0", 0, Optional.of(Token.of("a-token-that-nobody-guesses")))));
    assertThat(parse("planning.deep=false").planning().deep()).isEmpty();
  }

  @Test
  void all_problems_are_reported_together() {
    assertThat(
            problems(
                """
                schema.registry.url=registry:8081
                state.directory=
                topics.partitions=none
                topics.partition=3
                threads=0
                threads=1
                planning.debounce.ms=600
                planning.deep.gain=NaN
                kafka.bootstrap.servers=x:1
                registry.url=http://x
                registry.use.latest.version=true
                http.port=65536
                """))
        .containsExactlyInAnyOrder(
            "bootstrap.servers is missing; it must be host:port, several separated by commas."
                + " Brokers to connect to first.",
            "schema.registry.url must be one http or https address without a user; see"
                + " registry.basic.auth.user.info, got \"registry:8081\".",
            "state.directory must be a folder that no other instance uses, got \"\".",
            "topics.partitions must be 1 to 10000 partitions, got \"none\": it is not a whole number.",
            "topics.partition is not a setting (its value is \"3\"). Maybe topics.partitions.",
            "threads is repeated; remove all but one.",
            "planning.debounce.ms and planning.longest.wait.ms: the debounce interval must be at most the"
                + " longest wait of 500 ms, got 600 ms.",
            "planning.deep.gain must be 0 to 1 of the running plan's predicted cost, got \"NaN\".",
            "kafka.bootstrap.servers is not passed to Kafka; set bootstrap.servers.",
            "registry.url is not passed to the registry's client; set schema.registry.url.",
            "registry.use.latest.version must be false, got \"true\": records would be written in"
                + " another schema than their own, with values in wrong fields. Leave it out.",
            "http.port must be 0 to 65535; 0 for any free port, got \"65536\".");
    assertThatThrownBy(
            () ->
                SettingsFile.parse(
                    "conf/a.properties", LEAST + "threads=x", warning -> {}, (key, value) -> {}))
        .hasMessage(
            "conf/a.properties has 1 problem:\n"
                + "  threads must be 1 to 256 threads, got \"x\": it is not a whole number.");
  }

  /** With each of them records would be lost, doubled, or on another partition than their key's. */
  @ParameterizedTest
  @ValueSource(
      strings = {
        "group.protocol",
        "main.consumer.group.protocol",
        "num.standby.replicas",
        "processing.guarantee",
        "consumer.isolation.level",
        "restore.consumer.isolation.level",
        "main.consumer.enable.auto.commit",
        "global.consumer.auto.offset.reset",
        "consumer.group.id",
        "admin.bootstrap.servers",
        "transactional.id",
        "producer.transactional.id",
        "producer.transaction.two.phase.commit.enable",
        "acks",
        "producer.acks",
        "enable.idempotence",
        "partitioner.class",
        "producer.partitioner.class",
        "producer.partitioner.ignore.keys",
        "processing.exception.handler",
        "production.exception.handler",
        "default.production.exception.handler",
        "deserialization.exception.handler",
        "default.timestamp.extractor",
        "producer.value.serializer",
        "default.value.serde",
        "topic.cleanup.policy"
      })
  void settings_of_kafka_that_break_what_planners_rely_on_are_refused_by_name(String name) {
    assertThat(problems(LEAST + "kafka." + name + "=x\n"))
        .singleElement(InstanceOfAssertFactories.STRING)
        .matches("kafka\\.%s is not passed to Kafka; .+\\.".formatted(Pattern.quote(name)));
  }

  @Test
  void a_group_protocol_is_refused_with_the_reason() {
    assertThat(problems(LEAST + "kafka.group.protocol=streams\n"))
        .containsExactly(
            "kafka.group.protocol is not passed to Kafka; leave it out; it is classic: with another"
                + " one the brokers, not the planner, set how long a session is and how many standby"
                + " replicas there are.");
  }

  @Test
  void keys_of_0_2_0_are_read_with_a_warning_or_refused_with_a_reason() {
    List<String> warnings = new ArrayList<>();
    ServiceSettings settings =
        SettingsFile.parse(
            "a.properties",
            LEAST
                + "planning.quiet.ms=7\n"
                + "planning.column.cuts=equal\n"
                + "feedback.detector=page-hinkley\n",
            warnings::add,
            (key, value) -> {});
    assertThat(settings.planning().debounce()).isEqualTo(Duration.ofMillis(7));
    assertThat(warnings)
        .containsExactly(
            "planning.quiet.ms is now planning.debounce.ms; rename it.",
            "planning.column.cuts=equal is what every search does now; remove it.",
            "feedback.detector=page-hinkley is what detects drift now; remove it.");
    assertThat(
            problems(
                LEAST
                    + "planning.quiet.ms=7\nplanning.debounce.ms=8\n"
                    + "planning.column.cuts=any\nfeedback.detector=cusum\n"))
        .containsExactly(
            "planning.quiet.ms is now planning.debounce.ms, which is set too; remove it.",
            "planning.column.cuts must be equal, got \"any\": column parts of a table have equal"
                + " widths now, which TorchRec requires; remove it.",
            "feedback.detector must be page-hinkley, got \"cusum\": the other detectors found drift"
                + " later or raised more false alarms; remove it.");
  }

  @Test
  void an_adjustment_of_a_pool_must_be_able_to_pay() {
    assertThat(problems(LEAST + "pools.payback.seconds=60"))
        .containsExactly(
            "pools.adjustment.seconds and pools.payback.seconds: paybackSeconds must be above 0 and"
                + " at least adjustmentSeconds, 300.0, got 60.0.");
  }

  @Test
  void capacities_and_warnings_must_last_as_long_as_a_resize_takes() {
    assertThat(
            problems(
                LEAST
                    + """
                    growth.lead.days=30
                    growth.cover.days=59.5
                    growth.least.hit.gain=0
                    pools.payback.seconds=60
                    """))
        .containsExactly(
            "pools.adjustment.seconds and pools.payback.seconds: paybackSeconds must be above 0 and"
                + " at least adjustmentSeconds, 300.0, got 60.0.",
            "growth.least.hit.gain must be above 0 to 1 of lookups, got \"0\".",
            "growth.lead.days and growth.cover.days and growth.warning.days: coverDays must be at"
                + " least twice, and warningDays at least, leadDays, 30.0, got 59.5 and 60.0.");
    assertThat(problems(LEAST + "growth.lead.days=100\ngrowth.cover.days=x"))
        .containsExactly(
            "growth.cover.days must be above 0 to 180 days, at least twice growth.lead.days, got \"x\": it"
                + " is not a number.");
  }

  @Test
  void each_extension_has_a_setting_of_its_name() {
    assertThat(parse("").extensions()).isEmpty();
    for (Extension extension : Extension.values()) {
      assertThat(parse(extension + ".enabled=true").extensions()).containsExactly(extension);
      assertThat(parse(extension + ".enabled=false").extensions()).isEmpty();
    }
    assertThat(parse("growth.enabled=true\npools.enabled=true").extensions())
        .containsExactly(Extension.POOLS, Extension.GROWTH);
  }

  /** The bounds are those of the records; here, that both ends reach the file. */
  @ParameterizedTest
  @CsvSource({
    "topics.partitions, 1, 10000, 0, 10001",
    "topics.replication, 1, 100, 0, 101",
    "threads, 1, 256, 0, 257",
    "planning.longest.wait.ms, 10, 60000, -1, 60001",
    "planning.quick.evaluations.per.table, 1, 10000000, 0, 10000001",
    "planning.deep.repair.evaluations, 0, 10000000000, -1, 10000000001",
    "planning.deep.after.ms, 0, 86400000, -1, 86400001",
    "planning.reshard.ms, 0, 1000000, -0.1, 1000000.1",
    "planning.payback.steps, 1, 1000000000000, 0, 1000000000001",
    "planning.move.gigabytes.per.second, 1e-300, 1000000, 0, 1000001",
    "planning.deep.gain, 0, 1, -0.001, 1.001",
    "training.samples, 1, 1000000, 0, 1000001",
    "training.schedule.hours, 1, 87600, 0, 87601",
    "training.gain, 0, 0.99, -0.1, 1",
    "training.old.margin, 0, 10, -0.1, 10.1",
    "pools.adjusted.at.once, 2, 1000, 1, 1001",
    "pools.fairness.loss, 0, 1, -0.1, 1.1",
    "growth.lead.days, 1e-300, 14, 0, 180.1",
    "growth.cover.days, 4, 180, 0, 180.1",
    "growth.warning.days, 2, 180, 0, 180.1",
    "growth.least.hit.gain, 1e-300, 1, 0, 1.1",
    "http.port, 0, 65535, -1, 65536"
  })
  void numbers_have_the_ranges_of_their_records(
      String key, String least, String greatest, String below, String above) {
    assertThat(parse(key + "=" + least)).isNotNull();
    assertThat(parse(key + "=" + greatest)).isNotNull();
    for (String outside : List.of(below, above)) {
      assertThat(problems(LEAST + key + "=" + outside))
          .singleElement()
          .asString()
          .startsWith(key + " must be ")
          .endsWith("got \"" + outside + "\".");
    }
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      textBlock =
          """
          bootstrap.server=x:1          | Maybe bootstrap.servers.
          schema.registry.urls=x        | Maybe schema.registry.url.
          planning.deep.gains=1         | Maybe planning.deep.gain.
          htp.port=1                    | Maybe http.port.
          security.protocol=SSL         | Maybe kafka.security.protocol: settings of Kafka's clients begin with kafka.
          """)
  void a_key_that_is_unknown_is_an_error_with_a_hint(String line, String hint) {
    assertThat(problems(LEAST + line)).singleElement().asString().contains(hint);
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "kafka",
        "kafka:",
        "kafka:0x1",
        "kafka:65536",
        "kafka:9092,",
        "http://kafka:9092",
        "a b:1"
      })
  void invalid_broker_addresses_are_refused(String brokers) {
    assertThat(problems("bootstrap.servers=" + brokers))
        .anySatisfy(
            p ->
                assertThat(p)
                    .startsWith("bootstrap.servers must be host:port")
                    .contains("got \"" + brokers + "\""));
  }

  @Test
  void unreadable_files_are_refused(@TempDir Path folder) throws IOException {
    Path file = folder.resolve("a.properties");
    Files.write(file, new byte[] {'a', '=', (byte) 0xff, (byte) 0xfe});
    assertThatThrownBy(() -> SettingsFile.read(file, warning -> {}, (key, value) -> {}))
        .hasMessageContaining("Line 1: text must be UTF-8, got byte 0xff.");
    Files.writeString(file, "a=\\u12");
    assertThatThrownBy(() -> SettingsFile.read(file, warning -> {}, (key, value) -> {}))
        .hasMessageContaining("not in the syntax of Java's properties");
    Path missing = folder.resolve("missing.avro");
    assertThat(problems(LEAST + "models=" + missing))
        .singleElement()
        .asString()
        .contains(missing + " is not a readable file");
  }

  @Test
  void secrets_are_masked() {
    String secrets =
        """
        kafka.sasl.jaas.config=x.PlainLoginModule required username="u" password="hunter2";
        kafka.ssl.keystore.password=hunter2
        kafka.consumer.ssl.key.password=hunter2
        kafka.ssl.keystore.key=hunter2
        kafka.sasl.oauthbearer.client.credentials.client.secret=hunter2
        kafka.my.login.passphrase=hunter2
        kafka.my.api_key=hunter2
        kafka.proxy=http://u:hunter2@proxy:3128
        registry.basic.auth.user.info=u:hunter2
        registry.bearer.auth.token=hunter2
        registry.bearer.auth.client.secret=hunter2
        registry.request.header.authorization=hunter2
        """;
    assertThat(parse(secrets).toString()).doesNotContain("hunter2").contains("kafka:9092");
    Map<String, String> shown = new HashMap<>();
    Endpoint endpoint = parse(secrets).endpoint();
    endpoint.kafka().forEach((key, value) -> shown.put(key, Secrets.shown(key, value.toString())));
    endpoint
        .registry()
        .forEach((key, value) -> shown.put(key, Secrets.shown(key, value.toString())));
    assertThat(shown)
        .hasSize(12)
        .containsEntry("sasl.jaas.config", "********")
        .containsEntry("proxy", "http://********@proxy:3128");
    assertThat(shown.values()).noneMatch(value -> value.contains("hunter2"));
    assertThat(Secrets.shown("client.dns.lookup", "use_all_dns_ips")).isEqualTo("use_all_dns_ips");
    assertThat(
            problems(
                """
                schema.registry.url=http://u:hunter2@registry:8081
                sasl.jaas.config=password="hunter2";
                ssl.key.password=hunter2
                """))
        .hasSizeGreaterThan(3)
        .allSatisfy(p -> assertThat(p).doesNotContain("hunter2"));
  }

  /** A file is as good as its keys: their order, blanks and comments change nothing. */
  @Property(tries = 200)
  void kafka_settings_are_passed_on_unchanged(@ForAll("passed") Map<String, String> passed)
      throws IOException {
    Properties properties = new Properties();
    passed.forEach((key, value) -> properties.setProperty("kafka." + key, value));
    StringWriter text = new StringWriter();
    properties.store(text, "a comment");
    assertThat(parse(text.toString()).endpoint().kafka()).isEqualTo(passed);
  }

  @Provide
  Arbitrary<Map<String, String>> passed() {
    Arbitrary<String> keys =
        Arbitraries.strings().withCharRange('a', 'z').ofMinLength(1).ofMaxLength(12);
    Arbitrary<String> values = Arbitraries.strings().ofMaxLength(40).map(String::strip);
    return Arbitraries.maps(keys.map(key -> "x." + key), values).ofMaxSize(8);
  }

  /** Whatever a value is, there are settings or sentences, and never another exception. */
  @Property(tries = 500)
  void any_text_is_parsed_or_reported(@ForAll("keys") String key, @ForAll("values") String value) {
    try {
      assertThat(parse(key + "=" + value)).isNotNull();
    } catch (InvalidSettingsException e) {
      assertThat(e.problems()).isNotEmpty().allSatisfy(p -> assertThat(p).contains(key));
    }
  }

  @Provide
  Arbitrary<String> keys() {
    return Arbitraries.of(
        Settings.all().stream().filter(s -> s.fallback().isPresent()).map(Setting::key).toList());
  }

  @Provide
  Arbitrary<String> values() {
    return Arbitraries.oneOf(
        Arbitraries.strings().withCharRange(' ', '~').excludeChars('\\').ofMaxLength(20),
        Arbitraries.longs().map(String::valueOf),
        Arbitraries.doubles().ofScale(15).map(String::valueOf));
  }

  @Test
  void the_example_is_a_file_with_every_key_and_its_default() {
    String example = Settings.example();
    assertThat(SettingsFile.parse("example", example, warning -> {}, (key, value) -> {}).planning())
        .isEqualTo(PlanningSettings.DEFAULTS);
    String uncommented = example.replaceAll("(?m)^#(?=[a-z])", "");
    ServiceSettings all =
        SettingsFile.parse("example", uncommented, warning -> {}, (key, value) -> {});
    assertThat(all.topics()).isEqualTo(parse("").topics());
    assertThat(all.planning()).isEqualTo(PlanningSettings.DEFAULTS);
    assertThat(all.training()).isEqualTo(TrainingPolicy.DEFAULTS);
    assertThat(all.capacities()).isEqualTo(CapacityPolicy.DEFAULTS);
    assertThat(all.http()).isEqualTo(HttpSettings.DEFAULTS);
    Settings.all()
        .forEach(
            s ->
                assertThat(uncommented)
                    .contains(
                        "# %s\n# Values: %s.\n%s=".formatted(s.meaning(), s.values(), s.key())));
  }
}
