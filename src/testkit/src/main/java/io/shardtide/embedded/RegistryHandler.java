package io.shardtide.embedded;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.confluent.kafka.schemaregistry.CompatibilityLevel;
import io.confluent.kafka.schemaregistry.ParsedSchema;
import io.confluent.kafka.schemaregistry.client.MockSchemaRegistryClient;
import io.confluent.kafka.schemaregistry.client.SchemaMetadata;
import io.confluent.kafka.schemaregistry.client.rest.exceptions.RestClientException;
import java.io.IOException;
import java.net.URLDecoder;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import org.eclipse.jetty.http.HttpHeader;
import org.eclipse.jetty.io.Content;
import org.eclipse.jetty.server.Handler;
import org.eclipse.jetty.server.Request;
import org.eclipse.jetty.server.Response;
import org.eclipse.jetty.util.Callback;

/**
 * The part of Confluent's REST protocol that clients use: subjects, versions, ids, lookups,
 * compatibility, levels and modes. Errors are {@code {"error_code": 40403, "message": ".."}} with
 * the codes of Confluent's documentation.
 */
final class RegistryHandler extends Handler.Abstract {
  private static final String CONTENT_TYPE = "application/vnd.schemaregistry.v1+json";

  private final RegistryStore store;
  private final MockSchemaRegistryClient memory;
  private final ObjectMapper json = new ObjectMapper();

  RegistryHandler(RegistryStore store) {
    this.store = store;
    memory = store.memory();
  }

  /** An answer that is an error. */
  private static final class Refusal extends Exception {
    private static final long serialVersionUID = 1L;
    private final int code;

    Refusal(int code, String message) {
      super(message);
      this.code = code;
    }

    int status() {
      return code >= 10_000 ? code / 100 : code;
    }
  }

  @Override
  public boolean handle(Request request, Response response, Callback callback) throws Exception {
    JsonNode answer;
    try {
      String path = request.getHttpURI().getPath();
      List<String> parts =
          Arrays.stream(path.split("/", -1))
              .filter(p -> !p.isEmpty())
              .map(p -> URLDecoder.decode(p, StandardCharsets.UTF_8))
              .toList();
      String body = Content.Source.asString(request, StandardCharsets.UTF_8);
      synchronized (this) {
        store.catchUp();
        answer =
            answer(
                request.getMethod(),
                parts,
                body.isBlank() ? null : json.readTree(body),
                "true".equals(Request.extractQueryParameters(request).getValue("defaultToGlobal")));
      }
    } catch (Refusal e) {
      answer = refuse(response, e.status(), e.code, e.getMessage());
    } catch (RestClientException e) {
      answer = refuse(response, e.getStatus(), e.getErrorCode(), e.getMessage());
    } catch (JsonProcessingException e) {
      answer = refuse(response, 422, 42201, "Not JSON: " + e.getOriginalMessage());
    } catch (RuntimeException e) {
      answer = refuse(response, 500, 50001, String.valueOf(e.getMessage()));
    }
    response.getHeaders().put(HttpHeader.CONTENT_TYPE, CONTENT_TYPE);
    Content.Sink.write(response, true, json.writeValueAsString(answer), callback);
    return true;
  }

  private JsonNode refuse(Response response, int status, int code, String message) {
    response.setStatus(status);
    return json.createObjectNode().put("error_code", code).put("message", message);
  }

  private JsonNode answer(String method, List<String> parts, JsonNode body, boolean orGlobal)
      throws Refusal, IOException, RestClientException {
    String root = parts.isEmpty() ? "" : parts.get(0);
    return switch (method + " " + root) {
      case "GET " -> json.createObjectNode();
      case "GET subjects", "POST subjects", "DELETE subjects" -> subjects(method, parts, body);
      case "GET schemas" -> schemas(parts);
      case "POST compatibility" -> compatibility(parts, body);
      case "GET config", "PUT config" -> config(method, parts, body, orGlobal);
      case "GET mode" -> json.createObjectNode().put("mode", "READWRITE");
      default -> throw new Refusal(404, "HTTP 404 Not Found");
    };
  }

  private JsonNode subjects(String method, List<String> parts, JsonNode body)
      throws Refusal, IOException, RestClientException {
    if (parts.size() == 1) {
      return json.valueToTree(memory.getAllSubjects().stream().sorted().toList());
    }
    String subject = parts.get(1);
    if (method.equals("POST") && parts.size() == 3) {
      ParsedSchema schema = parse(body);
      // As in Confluent's: a schema that is there already is not compared with later ones.
      if (memory.getAllSubjects().contains(subject)
          && store.find(subject, schema).isEmpty()
          && !memory.testCompatibility(subject, schema)) {
        throw new Refusal(
            409,
            "Schema being registered is incompatible with an earlier schema for subject \""
                + subject
                + "\"");
      }
      return json.createObjectNode().put("id", store.register(subject, schema));
    }
    requireSubject(subject);
    if (method.equals("POST") && parts.size() == 2) {
      return lookup(subject, parse(body));
    }
    if (method.equals("DELETE") && parts.size() == 2) {
      return json.valueToTree(memory.deleteSubject(subject, false));
    }
    if (method.equals("GET") && parts.size() >= 3 && parts.get(2).equals("versions")) {
      if (parts.size() == 3) {
        return json.valueToTree(memory.getAllVersions(subject));
      }
      SchemaMetadata version = version(subject, parts.get(3));
      return parts.size() == 5 && parts.get(4).equals("schema")
          ? json.readTree(version.getSchema())
          : describe(subject, version);
    }
    throw new Refusal(404, "HTTP 404 Not Found");
  }

  private JsonNode schemas(List<String> parts) throws Refusal, IOException, RestClientException {
    if (parts.size() == 2 && parts.get(1).equals("types")) {
      return json.createArrayNode().add("AVRO");
    }
    if (parts.size() < 3 || !parts.get(1).equals("ids")) {
      throw new Refusal(404, "HTTP 404 Not Found");
    }
    int id = number(parts.get(2));
    ParsedSchema schema;
    try {
      schema = memory.getSchemaById(id);
    } catch (IOException | RestClientException e) {
      throw new Refusal(40403, "Schema " + id + " not found");
    }
    return switch (parts.size() == 3 ? "" : parts.get(3)) {
      case "" -> json.createObjectNode().put("schema", schema.canonicalString());
      case "schema" -> json.readTree(schema.canonicalString());
      case "subjects" ->
          json.valueToTree(
              memory.getAllSubjectsById(id).stream().filter(s -> !s.isEmpty()).sorted().toList());
      case "versions" ->
          json.valueToTree(
              memory.getAllVersionsById(id).stream()
                  .map(
                      v ->
                          json.createObjectNode()
                              .put("subject", v.getSubject())
                              .put("version", v.getVersion()))
                  .toList());
      default -> throw new Refusal(404, "HTTP 404 Not Found");
    };
  }

  private JsonNode compatibility(List<String> parts, JsonNode body)
      throws Refusal, IOException, RestClientException {
    if (parts.size() < 4 || !parts.get(1).equals("subjects")) {
      throw new Refusal(404, "HTTP 404 Not Found");
    }
    requireSubject(parts.get(2));
    return json.createObjectNode()
        .put("is_compatible", memory.testCompatibility(parts.get(2), parse(body)));
  }

  private JsonNode config(String method, List<String> parts, JsonNode body, boolean orGlobal)
      throws Refusal, IOException, RestClientException {
    Optional<String> subject = parts.stream().skip(1).findFirst();
    if (method.equals("PUT")) {
      JsonNode wanted = body == null ? null : body.get("compatibility");
      CompatibilityLevel level =
          wanted == null ? null : CompatibilityLevel.forName(wanted.textValue());
      if (level == null) {
        throw new Refusal(42203, "Invalid compatibility level");
      }
      store.require(subject, level.name);
      return json.createObjectNode().put("compatibility", level.name);
    }
    Optional<String> level = store.required(subject);
    if (level.isEmpty() && subject.isPresent() && !orGlobal) {
      throw new Refusal(
          40408,
          "Subject '%s' does not have subject-level compatibility configured"
              .formatted(subject.get()));
    }
    return json.createObjectNode()
        .put(
            "compatibilityLevel",
            level
                .or(() -> store.required(Optional.empty()))
                .orElse(CompatibilityLevel.BACKWARD.name));
  }

  private JsonNode lookup(String subject, ParsedSchema schema)
      throws Refusal, IOException, RestClientException {
    SchemaMetadata found =
        store.find(subject, schema).orElseThrow(() -> new Refusal(40403, "Schema not found"));
    return describe(subject, found);
  }

  private SchemaMetadata version(String subject, String version)
      throws Refusal, IOException, RestClientException {
    try {
      return version.equals("latest") || version.equals("-1")
          ? memory.getLatestSchemaMetadata(subject)
          : memory.getSchemaMetadata(subject, number(version));
    } catch (RestClientException e) {
      throw new Refusal(40402, "Version " + version + " not found.");
    }
  }

  private ObjectNode describe(String subject, SchemaMetadata metadata) {
    return json.createObjectNode()
        .put("subject", subject)
        .put("version", metadata.getVersion())
        .put("id", metadata.getId())
        .put("schema", metadata.getSchema());
  }

  private ParsedSchema parse(JsonNode body) throws Refusal {
    JsonNode text = body == null ? null : body.get("schema");
    JsonNode type = body == null ? null : body.get("schemaType");
    if (text == null || !text.isTextual() || (type != null && !type.asText().equals("AVRO"))) {
      throw new Refusal(42201, "Invalid schema: expected {\"schema\": \"<Avro schema as text>\"}");
    }
    return memory
        .parseSchema("AVRO", text.textValue(), List.of())
        .orElseThrow(() -> new Refusal(42201, "Invalid schema " + text.textValue()));
  }

  private void requireSubject(String subject) throws Refusal, IOException, RestClientException {
    if (!memory.getAllSubjects().contains(subject)) {
      throw new Refusal(40401, "Subject '" + subject + "' not found.");
    }
  }

  private static int number(String text) throws Refusal {
    try {
      return Integer.parseInt(text);
    } catch (NumberFormatException e) {
      throw new Refusal(42202, "The specified version '" + text + "' is not a number");
    }
  }
}
