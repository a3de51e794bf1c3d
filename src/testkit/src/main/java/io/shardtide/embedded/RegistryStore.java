package io.shardtide.embedded;

import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.confluent.kafka.schemaregistry.ParsedSchema;
import io.confluent.kafka.schemaregistry.avro.AvroSchema;
import io.confluent.kafka.schemaregistry.avro.AvroSchemaProvider;
import io.confluent.kafka.schemaregistry.client.MockSchemaRegistryClient;
import io.confluent.kafka.schemaregistry.client.SchemaMetadata;
import io.confluent.kafka.schemaregistry.client.rest.exceptions.RestClientException;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * What the development registry holds: Confluent's own in-memory implementation, and a journal of
 * what was registered and which compatibility was asked for, so that a registry started again on
 * the same folder, or beside the first one to take its address when it dies, gives every schema the
 * id that it had, and refuses what it refused.
 */
final class RegistryStore {
  private final MockSchemaRegistryClient memory =
      new MockSchemaRegistryClient(List.of(new AvroSchemaProvider()));
  private final ObjectMapper json = new ObjectMapper();
  private final Optional<Path> journal;

  /** Which compatibility was asked for: by subject, and without one for all others. */
  private final Map<Optional<String>, String> levels = new HashMap<>();

  /** Bytes of the journal that were read. */
  private long read;

  /** Reads the journal, if there is one. */
  RegistryStore(Optional<Path> journal) throws IOException {
    this.journal = journal;
    catchUp();
  }

  /**
   * Reads what was written to the journal since: by this registry, which changes nothing, or by
   * another one on the same folder that had this one's address before.
   */
  void catchUp() throws IOException {
    if (journal.isEmpty() || !Files.exists(journal.get()) || Files.size(journal.get()) == read) {
      return;
    }
    byte[] bytes = Files.readAllBytes(journal.get());
    String added = new String(bytes, (int) read, bytes.length - (int) read, StandardCharsets.UTF_8);
    for (String line : added.lines().toList()) {
      var entry = json.readTree(line);
      String subject = entry.path("subject").textValue();
      try {
        if (entry.has("compatibility")) {
          set(Optional.ofNullable(subject), entry.get("compatibility").textValue());
        } else {
          memory.register(subject, new AvroSchema(entry.get("schema").textValue()));
        }
      } catch (RestClientException e) {
        throw new IOException("The registry's journal " + journal.get() + " is damaged", e);
      }
    }
    read = bytes.length;
  }

  /** Returns the implementation, for everything but registering. */
  MockSchemaRegistryClient memory() {
    return memory;
  }

  /** Registers a schema and returns its id; one that is there already keeps its id. */
  int register(String subject, ParsedSchema schema) throws IOException, RestClientException {
    boolean isNew = find(subject, schema).isEmpty();
    int id = memory.register(subject, schema);
    if (isNew) {
      note(json.createObjectNode().put("subject", subject).put("schema", schema.canonicalString()));
    }
    return id;
  }

  /**
   * Sets which schemas are accepted.
   *
   * @param subject of a subject, or of all that have no level of their own
   */
  void require(Optional<String> subject, String compatibility)
      throws IOException, RestClientException {
    if (set(subject, compatibility)) {
      ObjectNode entry = json.createObjectNode().put("compatibility", compatibility);
      subject.ifPresent(name -> entry.put("subject", name));
      note(entry);
    }
  }

  /** Returns which schemas are accepted, if that was said of this subject, or of all. */
  Optional<String> required(Optional<String> subject) {
    return Optional.ofNullable(levels.get(subject));
  }

  /** Returns whether it was another level before. */
  private boolean set(Optional<String> subject, String compatibility)
      throws IOException, RestClientException {
    memory.updateCompatibility(subject.orElse(null), compatibility);
    return !compatibility.equals(levels.put(subject, compatibility));
  }

  private void note(ObjectNode entry) throws IOException {
    if (journal.isPresent()) {
      Files.writeString(
          journal.get(),
          json.writeValueAsString(entry) + "\n",
          StandardCharsets.UTF_8,
          StandardOpenOption.CREATE,
          StandardOpenOption.APPEND);
    }
  }

  /** Returns the version of a subject that has this schema, if one has. */
  Optional<SchemaMetadata> find(String subject, ParsedSchema schema)
      throws IOException, RestClientException {
    if (!memory.getAllSubjects().contains(subject)) {
      return Optional.empty();
    }
    for (int version : memory.getAllVersions(subject)) {
      SchemaMetadata metadata = memory.getSchemaMetadata(subject, version);
      if (metadata.getSchema().equals(schema.canonicalString())) {
        return Optional.of(metadata);
      }
    }
    return Optional.empty();
  }
}
