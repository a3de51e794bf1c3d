package io.shardtide.embedded;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.confluent.kafka.schemaregistry.avro.AvroSchema;
import io.confluent.kafka.schemaregistry.client.CachedSchemaRegistryClient;
import io.confluent.kafka.schemaregistry.client.rest.exceptions.RestClientException;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.file.Path;
import java.util.Optional;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * Confluent's protocol over HTTP: with Confluent's own client, and with requests as any other
 * client sends them.
 */
class DevelopmentRegistryIT {
  private static final String ONE =
      "{\"type\":\"record\",\"name\":\"R\",\"fields\":[{\"name\":\"a\",\"type\":\"int\"}]}";
  private static final String TWO =
      "{\"type\":\"record\",\"name\":\"R\",\"fields\":[{\"name\":\"a\",\"type\":\"int\"},"
          + "{\"name\":\"b\",\"type\":\"int\",\"default\":7}]}";
  private static final String CLASH =
      "{\"type\":\"record\",\"name\":\"R\",\"fields\":[{\"name\":\"c\",\"type\":\"string\"}]}";

  @TempDir private Path folder;
  private final ObjectMapper json = new ObjectMapper();
  private final HttpClient http = HttpClient.newHttpClient();
  private DevelopmentRegistry registry;
  private CachedSchemaRegistryClient client;

  @BeforeEach
  void start() throws IOException {
    registry = DevelopmentRegistry.start(0, Optional.of(folder));
    client = new CachedSchemaRegistryClient(registry.url(), 10);
  }

  @AfterEach
  void stop() throws IOException {
    client.close();
    registry.close();
  }

  @Test
  void confluents_client_registers_and_reads() throws Exception {
    int first = client.register("s-value", new AvroSchema(ONE));
    int second = client.register("s-value", new AvroSchema(TWO));
    assertThat(second).isNotEqualTo(first);
    assertThat(client.register("other/with slash", new AvroSchema(ONE))).isEqualTo(first);
    CachedSchemaRegistryClient fresh = new CachedSchemaRegistryClient(registry.url(), 10);
    assertThat(fresh.getSchemaById(second).canonicalString()).isEqualTo(TWO);
    assertThat(fresh.getSchemaBySubjectAndId("s-value", first).canonicalString()).isEqualTo(ONE);
    assertThat(fresh.getAllSubjects()).containsExactly("other/with slash", "s-value");
    assertThat(fresh.getAllVersions("s-value")).containsExactly(1, 2);
    assertThat(fresh.getLatestSchemaMetadata("s-value").getVersion()).isEqualTo(2);
    assertThat(fresh.getSchemaMetadata("s-value", 1).getId()).isEqualTo(first);
    assertThat(fresh.getVersion("s-value", new AvroSchema(TWO))).isEqualTo(2);
    assertThat(fresh.getId("s-value", new AvroSchema(ONE))).isEqualTo(first);
    assertThat(fresh.testCompatibility("s-value", new AvroSchema(CLASH))).isFalse();
    assertThat(fresh.updateCompatibility("s-value", "NONE")).isEqualTo("NONE");
    assertThat(fresh.getCompatibility("s-value")).isEqualTo("NONE");
    assertThat(fresh.testCompatibility("s-value", new AvroSchema(CLASH))).isTrue();
    fresh.close();
  }

  @Test
  void an_incompatible_schema_is_refused() throws Exception {
    client.register("s-value", new AvroSchema(ONE));
    assertThatThrownBy(() -> client.register("s-value", new AvroSchema(CLASH)))
        .isInstanceOfSatisfying(
            RestClientException.class, e -> assertThat(e.getStatus()).isEqualTo(409));
    assertThat(client.getAllVersions("s-value")).containsExactly(1);
  }

  /** A version of a program that goes back registers its schemas again. */
  @Test
  void a_schema_that_is_there_keeps_its_id_whatever_came_later() throws Exception {
    String before = record("{\"name\":\"a\",\"type\":\"int\"}");
    String path = "/subjects/s-value/versions";
    JsonNode id = call("POST", path, schema(before), 200);
    call("POST", path, schema(record("")), 200);
    assertThat(call("POST", path, schema(before), 200)).isEqualTo(id);
    assertThat(client.getAllVersions("s-value")).containsExactly(1, 2);
  }

  @Test
  void schemas_survive_a_restart_with_their_ids() throws Exception {
    int first = client.register("s-value", new AvroSchema(ONE));
    int second = client.register("t-value", new AvroSchema(TWO));
    client.register("s-value", new AvroSchema(ONE));
    registry.close();
    registry = DevelopmentRegistry.start(0, Optional.of(folder));
    CachedSchemaRegistryClient again = new CachedSchemaRegistryClient(registry.url(), 10);
    assertThat(again.getSchemaById(first).canonicalString()).isEqualTo(ONE);
    assertThat(again.getSchemaById(second).canonicalString()).isEqualTo(TWO);
    assertThat(again.getAllVersions("s-value")).containsExactly(1);
    assertThat(again.register("s-value", new AvroSchema(TWO))).isEqualTo(second);
    again.close();
  }

  private static String record(String fields) {
    return "{\"type\":\"record\",\"name\":\"R\",\"fields\":[" + fields + "]}";
  }

  /** What is legal after the last version alone is not, if all versions count. */
  @Test
  void a_registry_beside_another_one_has_the_same_schemas() throws Exception {
    try (DevelopmentRegistry beside = DevelopmentRegistry.start(0, Optional.of(folder));
        CachedSchemaRegistryClient other = new CachedSchemaRegistryClient(beside.url(), 10)) {
      int one = client.register("s-value", new AvroSchema(ONE));
      assertThat(other.getSchemaById(one).canonicalString()).isEqualTo(ONE);
      int two = other.register("s-value", new AvroSchema(TWO));
      assertThat(two).isNotEqualTo(one);
      assertThat(client.getSchemaById(two).canonicalString()).isEqualTo(TWO);
      assertThat(client.register("t-value", new AvroSchema(CLASH))).isNotIn(one, two);
    }
  }

  @Test
  void the_level_that_was_asked_for_holds_after_a_restart_too() throws Exception {
    String text = record("{\"name\":\"a\",\"type\":\"string\",\"default\":\"\"}");
    for (String subject : new String[] {"last-value", "all-value"}) {
      client.register(subject, new AvroSchema(record("{\"name\":\"a\",\"type\":\"int\"}")));
      client.register(subject, new AvroSchema(record("")));
    }
    client.updateCompatibility("all-value", "BACKWARD_TRANSITIVE");
    assertThat(client.register("last-value", new AvroSchema(text))).isPositive();
    for (int start = 0; start < 2; start++) {
      assertThat(call("GET", "/config/all-value", null, 200).get("compatibilityLevel").textValue())
          .isEqualTo("BACKWARD_TRANSITIVE");
      call("POST", "/subjects/all-value/versions", schema(text), 409);
      registry.close();
      registry = DevelopmentRegistry.start(0, Optional.of(folder));
    }
  }

  @Test
  void the_level_of_all_holds_for_subjects_without_their_own() throws Exception {
    assertThat(call("GET", "/config", null, 200).get("compatibilityLevel").textValue())
        .isEqualTo("BACKWARD");
    call("POST", "/subjects/a-value/versions", schema(ONE), 200);
    call("POST", "/subjects/a-value/versions", schema(CLASH), 409);
    call("PUT", "/config", "{\"compatibility\": \"NONE\"}", 200);
    call("GET", "/config/a-value", null, 404);
    assertThat(
            call("GET", "/config/a-value?defaultToGlobal=true", null, 200)
                .get("compatibilityLevel")
                .textValue())
        .isEqualTo("NONE");
    registry.close();
    registry = DevelopmentRegistry.start(0, Optional.of(folder));
    call("POST", "/subjects/a-value/versions", schema(CLASH), 200);
    call("PUT", "/config", "{\"compatibility\": \"SOMEHOW\"}", 422);
  }

  private JsonNode call(String method, String path, String body, int status) throws Exception {
    HttpResponse<String> response =
        http.send(
            HttpRequest.newBuilder(URI.create(registry.url() + path))
                .method(
                    method,
                    body == null
                        ? HttpRequest.BodyPublishers.noBody()
                        : HttpRequest.BodyPublishers.ofString(body))
                .build(),
            HttpResponse.BodyHandlers.ofString());
    assertThat(response.statusCode()).as(method + " " + path).isEqualTo(status);
    assertThat(response.headers().firstValue("content-type").orElseThrow())
        .startsWith("application/vnd.schemaregistry.v1+json");
    return json.readTree(response.body());
  }

  private String schema(String text) {
    return json.createObjectNode().put("schema", text).toString();
  }

  @Test
  void plain_requests_get_the_documented_answers() throws Exception {
    assertThat(call("GET", "/", null, 200)).isEmpty();
    assertThat(call("GET", "/subjects", null, 200)).isEmpty();
    int id = call("POST", "/subjects/a-value/versions", schema(ONE), 200).get("id").intValue();
    assertThat(
            call("GET", "/schemas/ids/" + id + "?fetchMaxId=false&subject=a-value", null, 200)
                .get("schema")
                .textValue())
        .isEqualTo(ONE);
    assertThat(call("GET", "/schemas/ids/" + id + "/schema", null, 200).get("name").textValue())
        .isEqualTo("R");
    assertThat(call("GET", "/schemas/ids/" + id + "/subjects", null, 200).get(0).textValue())
        .isEqualTo("a-value");
    assertThat(
            call("GET", "/schemas/ids/" + id + "/versions", null, 200)
                .get(0)
                .get("version")
                .intValue())
        .isEqualTo(1);
    assertThat(call("GET", "/schemas/types", null, 200).get(0).textValue()).isEqualTo("AVRO");
    JsonNode latest = call("GET", "/subjects/a-value/versions/latest", null, 200);
    assertThat(latest.get("version").intValue()).isEqualTo(1);
    assertThat(latest.get("id").intValue()).isEqualTo(id);
    assertThat(
            call("GET", "/subjects/a-value/versions/1/schema", null, 200).get("name").textValue())
        .isEqualTo("R");
    assertThat(call("POST", "/subjects/a-value", schema(ONE), 200).get("version").intValue())
        .isEqualTo(1);
    assertThat(
            call("POST", "/compatibility/subjects/a-value/versions/latest", schema(TWO), 200)
                .get("is_compatible")
                .booleanValue())
        .isTrue();
    assertThat(call("GET", "/config", null, 200).get("compatibilityLevel").textValue())
        .isEqualTo("BACKWARD");
    assertThat(
            call("PUT", "/config", "{\"compatibility\":\"FULL\"}", 200)
                .get("compatibility")
                .textValue())
        .isEqualTo("FULL");
    assertThat(call("GET", "/config", null, 200).get("compatibilityLevel").textValue())
        .isEqualTo("FULL");
    assertThat(call("GET", "/mode", null, 200).get("mode").textValue()).isEqualTo("READWRITE");
    assertThat(call("DELETE", "/subjects/a-value", null, 200).get(0).intValue()).isEqualTo(1);
  }

  @Test
  void errors_have_the_documented_codes() throws Exception {
    call("POST", "/subjects/a-value/versions", schema(ONE), 200);
    assertError("GET", "/schemas/ids/99", null, 404, 40403);
    assertError("GET", "/subjects/none/versions", null, 404, 40401);
    assertError("GET", "/subjects/a-value/versions/9", null, 404, 40402);
    assertError("GET", "/subjects/a-value/versions/x", null, 422, 42202);
    assertError("POST", "/subjects/a-value", schema(TWO), 404, 40403);
    assertError("POST", "/subjects/a-value/versions", schema("nonsense"), 422, 42201);
    assertError("POST", "/subjects/a-value/versions", "not json", 422, 42201);
    assertError("POST", "/subjects/a-value/versions", "{}", 422, 42201);
    assertError(
        "POST",
        "/subjects/a-value/versions",
        "{\"schemaType\":\"PROTOBUF\",\"schema\":\"x\"}",
        422,
        42201);
    assertError("POST", "/subjects/a-value/versions", schema(CLASH), 409, 409);
    assertError("PUT", "/config", "{\"compatibility\":\"SOMETIMES\"}", 422, 42203);
    assertError("GET", "/config/a-value", null, 404, 40408);
    assertError("GET", "/nowhere", null, 404, 404);
    assertError("PATCH", "/subjects", null, 404, 404);
  }

  private void assertError(String method, String path, String body, int status, int code)
      throws Exception {
    JsonNode answer = call(method, path, body, status);
    assertThat(answer.get("error_code").intValue()).as(method + " " + path).isEqualTo(code);
    assertThat(answer.get("message").textValue()).isNotBlank();
  }

  @Test
  void a_port_in_use_is_reported() {
    assertThatThrownBy(() -> DevelopmentRegistry.start(registry.port(), Optional.empty()))
        .isInstanceOf(IOException.class)
        .hasMessageStartingWith(
            "The development registry could not listen on port " + registry.port());
  }
}
