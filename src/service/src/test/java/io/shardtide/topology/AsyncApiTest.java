package io.shardtide.topology;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import com.fasterxml.jackson.dataformat.yaml.YAMLFactory;
import com.networknt.schema.JsonSchemaFactory;
import com.networknt.schema.SpecVersion;
import com.networknt.schema.ValidationMessage;
import io.shardtide.config.ServiceSettings;
import io.shardtide.config.SettingsFile;
import io.shardtide.wire.Topic;
import io.shardtide.wire.Topics;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import java.util.stream.StreamSupport;
import java.util.zip.GZIPInputStream;
import org.apache.avro.Schema;
import org.apache.avro.SchemaNormalization;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.MethodSource;

/** {@code avro/asyncapi.yaml} is valid, and says of the topics what the program does. */
class AsyncApiTest {
  private static final Path FOLDER = Path.of("avro");
  private static final JsonNode DOCUMENT = read();
  private static final Topics TOPICS = Topics.withPrefix(Topics.DEFAULT_PREFIX);

  private static JsonNode read() {
    try {
      return new ObjectMapper(new YAMLFactory()).readTree(FOLDER.resolve("asyncapi.yaml").toFile());
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  static Collection<Topic<?>> topics() {
    return TOPICS.all();
  }

  /** Returns what is at a reference within the document, or the node itself if it is none. */
  private static JsonNode resolve(JsonNode node) {
    return node.has("$ref") ? DOCUMENT.at(node.get("$ref").textValue().substring(1)) : node;
  }

  private static Stream<JsonNode> each(JsonNode node) {
    return StreamSupport.stream(node.spliterator(), false);
  }

  private static JsonNode channel(Topic<?> topic) {
    return each(DOCUMENT.get("channels"))
        .filter(channel -> channel.get("address").textValue().equals(topic.name()))
        .findFirst()
        .orElseThrow();
  }

  private static List<String> problems(JsonNode document) throws IOException {
    try (InputStream schema =
        new GZIPInputStream(AsyncApiTest.class.getResourceAsStream("/asyncapi/3.0.0.json.gz"))) {
      return JsonSchemaFactory.getInstance(SpecVersion.VersionFlag.V7)
          .getSchema(schema)
          .validate(document)
          .stream()
          .map(ValidationMessage::getMessage)
          .toList();
    }
  }

  @Test
  void it_is_valid() throws IOException {
    assertThat(problems(DOCUMENT)).isEmpty();
  }

  /** The check above can fail: at the top, in a channel, and in a binding of Kafka's. */
  @ParameterizedTest
  @CsvSource({
    "/info, title, 1",
    "/channels/planStatus, adress, 1",
    "/components/channelBindings/log/kafka, partitions, 0",
    "/components/messageBindings/workload/kafka, schemaIdLocation, 1",
    "/operations/planningReceivesPlanStatus, action, 1"
  })
  void a_wrong_description_is_found(String parent, String field, int wrong) throws IOException {
    JsonNode document = DOCUMENT.deepCopy();
    ((ObjectNode) document.at(parent)).put(field, wrong);
    assertThat(problems(document)).isNotEmpty();
  }

  @Test
  void what_it_refers_to_exists() throws IOException {
    List<String> references = new ArrayList<>();
    DOCUMENT.findValuesAsText("$ref").forEach(references::add);
    assertThat(references).hasSizeGreaterThan(50);
    assertThat(references)
        .allSatisfy(
            reference -> {
              if (reference.startsWith("#")) {
                assertThat(DOCUMENT.at(reference.substring(1)).isObject()).isTrue();
              } else {
                assertThat(FOLDER.resolve(reference)).exists();
              }
            });
  }

  @Test
  void it_describes_every_topic_and_no_other() {
    assertThat(each(DOCUMENT.get("channels")).map(channel -> channel.get("address").textValue()))
        .containsExactlyInAnyOrderElementsOf(TOPICS.all().stream().map(Topic::name).toList());
  }

  @ParameterizedTest
  @MethodSource("topics")
  void topics_are_created_with_the_described_settings(Topic<?> topic, @TempDir Path folder)
      throws Exception {
    JsonNode kafka = resolve(channel(topic).get("bindings")).get("kafka");
    assertThat(kafka.has("topic")).as("a name that is not the channel's address").isFalse();
    Map<String, String> configuration = new HashMap<>();
    kafka
        .get("topicConfiguration")
        .properties()
        .forEach(
            setting ->
                configuration.put(
                    setting.getKey(),
                    setting.getValue().isArray()
                        ? String.join(
                            ",", each(setting.getValue()).map(JsonNode::textValue).toList())
                        : setting.getValue().asText()));
    assertThat(configuration).isEqualTo(TopicRules.created(topic, Map.of()));
    ServiceSettings defaults =
        SettingsFile.read(
            Files.writeString(
                folder.resolve("settings"),
                "bootstrap.servers=h:1\nschema.registry.url=http://h\nstate.directory=s\n"),
            warning -> {},
            (key, value) -> {});
    assertThat(kafka.get("partitions").intValue()).isEqualTo(defaults.topics().partitions());
    assertThat(kafka.get("replicas").intValue()).isEqualTo(defaults.topics().replication());
    assertThat(defaults.endpoint().prefix()).isEqualTo(Topics.DEFAULT_PREFIX);
  }

  @ParameterizedTest
  @MethodSource("topics")
  void a_topics_message_has_the_schema_of_today_and_its_key(Topic<?> topic) throws IOException {
    JsonNode channel = channel(topic);
    assertThat(channel.get("x-subject").textValue()).isEqualTo(topic.name() + "-value");
    assertThat(channel.get("x-compatibility").textValue()).isEqualTo("BACKWARD_TRANSITIVE");
    assertThat(channel.get("messages")).hasSize(1);
    JsonNode message = resolve(channel.get("messages").iterator().next());
    Schema schema = topic.type().codec().schema();
    assertThat(message.get("name").textValue()).isEqualTo(schema.getFullName());
    assertThat(message.get("summary").textValue()).isEqualTo(schema.getDoc());
    assertThat(message.at("/payload/schemaFormat").textValue())
        .startsWith("application/vnd.apache.avro;version=");

    Path file = FOLDER.resolve(message.at("/payload/schema/$ref").textValue());
    // That the file is the schema to the last word is SchemaTest's.
    assertThat(SchemaNormalization.parsingFingerprint64(new Schema.Parser().parse(file.toFile())))
        .isEqualTo(SchemaNormalization.parsingFingerprint64(schema));

    JsonNode kafka = resolve(message.get("bindings")).get("kafka");
    String key = kafka.at("/key/description").textValue();
    assertThat(schema.getDoc())
        .as("what the schema says of the key, beside \"%s\"", key)
        .contains(
            key.startsWith("The workload's id")
                ? "Keyed by workloadId"
                : key.startsWith("The hardware")
                    ? "Keyed by hardware"
                    : key.startsWith("The pool")
                        ? "Keyed by poolId"
                        : key.startsWith("The key in quarantine")
                            ? "Keyed by key"
                            : "Keyed like the record");
    assertThat(kafka.get("schemaIdLocation").textValue()).isEqualTo("payload");
    assertThat(kafka.get("schemaIdPayloadEncoding").textValue()).isEqualTo("confluent");
    assertThat(kafka.get("schemaLookupStrategy").textValue()).isEqualTo("TopicNameStrategy");
  }

  @Test
  void operations_are_those_of_the_topologies() throws IOException {
    Set<String> expected = new TreeSet<>();
    Pattern line = Pattern.compile("(Source|Sink): (\\S+) \\(topics?: \\[?([\\w.-]+)");
    try (Stream<Path> files = Files.list(Path.of("topologies"))) {
      for (Path file : files.filter(f -> f.toString().endsWith(".txt")).toList()) {
        String name = file.getFileName().toString().replace(".txt", "");
        Matcher matcher = line.matcher(Files.readString(file));
        while (matcher.find()) {
          // Each instance reads all of a global store's topic, without a group.
          String group =
              matcher.group(2).startsWith("take-") ? "" : " as " + Topics.DEFAULT_PREFIX + name;
          expected.add(
              matcher.group(1).equals("Source")
                  ? "receive " + matcher.group(3) + group
                  : "send " + matcher.group(3));
        }
      }
    }
    // The models, which no topology reads.
    expected.add("receive shardtide.cost-models");
    expected.add("send shardtide.cost-models");
    Set<String> said = new TreeSet<>();
    for (JsonNode operation : DOCUMENT.get("operations")) {
      JsonNode bindings =
          operation.has("bindings") ? resolve(operation.get("bindings")) : operation;
      String group = bindings.at("/kafka/groupId/const").asText();
      said.add(
          operation.get("action").textValue()
              + " "
              + resolve(operation.get("channel")).get("address").textValue()
              + (group.isEmpty() ? "" : " as " + group));
    }
    assertThat(said).isEqualTo(expected);
  }
}
