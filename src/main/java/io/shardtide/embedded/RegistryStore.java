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
import java.util.List;
import java.util.Optional;

/**
 * What the development registry holds: Confluent's own in-memory implementation, and a journal of
 * what was registered, so that a registry started again on the same folder gives every schema the
 * id that it had.
 */
final class RegistryStore {
  private final MockSchemaRegistryClient memory =
      new MockSchemaRegistryClient(List.of(new AvroSchemaProvider()));
  private final ObjectMapper json = new ObjectMapper();
  private final Optional<Path> journal;

  /** Reads the journal, if there is one. */
  RegistryStore(Optional<Path> journal) throws IOException {
    this.journal = journal;
    if (journal.isPresent() && Files.exists(journal.get())) {
      for (String line : Files.readAllLines(journal.get(), StandardCharsets.UTF_8)) {
        var entry = json.readTree(line);
        try {
          memory.register(
              entry.get("subject").textValue(), new AvroSchema(entry.get("schema").textValue()));
        } catch (RestClientException e) {
          throw new IOException("The registry's journal " + journal.get() + " is damaged", e);
        }
      }
    }
  }

  /** Returns the implementation, for everything but registering. */
  MockSchemaRegistryClient memory() {
    return memory;
  }

  /** Registers a schema and returns its id; one that is there already keeps its id. */
  int register(String subject, ParsedSchema schema) throws IOException, RestClientException {
    boolean isNew = find(subject, schema).isEmpty();
    int id = memory.register(subject, schema);
    if (isNew && journal.isPresent()) {
      ObjectNode entry =
          json.createObjectNode().put("subject", subject).put("schema", schema.canonicalString());
      Files.writeString(
          journal.get(),
          json.writeValueAsString(entry) + "\n",
          StandardCharsets.UTF_8,
          StandardOpenOption.CREATE,
          StandardOpenOption.APPEND);
    }
    return id;
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
