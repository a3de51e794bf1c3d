package io.shardtide.wire;

import io.confluent.kafka.schemaregistry.ParsedSchema;
import io.confluent.kafka.schemaregistry.avro.AvroSchema;
import io.confluent.kafka.schemaregistry.client.SchemaRegistryClient;
import io.confluent.kafka.schemaregistry.client.rest.entities.SchemaReference;
import io.confluent.kafka.schemaregistry.client.rest.entities.SchemaString;
import io.confluent.kafka.schemaregistry.client.rest.exceptions.RestClientException;
import io.shardtide.workload.RejectedException;
import io.shardtide.workload.RejectionReason;
import java.io.IOException;
import java.time.Duration;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.concurrent.Callable;
import java.util.concurrent.TimeUnit;
import org.apache.avro.Schema;

/**
 * Looks up the schemas of records by their ids, and decides which ids make a record invalid:
 * RATIONALE.md has the table. Safe for use by several threads.
 */
final class WriterSchemas {
  private static final int REMEMBERED = 1000;

  /** After this time, an id that was rejected is asked for again, once. */
  private static final long REJECTED_FOR_NANOS = TimeUnit.MINUTES.toNanos(10);

  /** How much longer an id is asked for if the registry does not say itself that it lacks it. */
  private static final int UNCLEAR_FACTOR = 10;

  /** All ids together are waited for this part of the time, after the first wait of full length. */
  private static final int SHARE_OF_TIME = 10;

  private static final String AVRO = "AVRO";

  private final String url;
  private final SchemaRegistryClient client;
  private final Lookup lookup;
  private final long missingNanos;
  private final Map<Integer, Schema> found = Collections.synchronizedMap(new Newest<>());
  private final Map<Integer, OddId> odd = Collections.synchronizedMap(new Newest<>());
  private volatile OptionalInt knownId = OptionalInt.empty();
  private long budgetNanos;
  private long budgetAt = System.nanoTime();

  /** Asks the registry for a schema, without a cache. */
  interface Lookup {
    SchemaString byId(int id) throws IOException, RestClientException;
  }

  /** The newest entries of a map. */
  private static final class Newest<V> extends LinkedHashMap<Integer, V> {
    private static final long serialVersionUID = 1L;

    @Override
    protected boolean removeEldestEntry(Map.Entry<Integer, V> eldest) {
      return size() > REMEMBERED;
    }
  }

  /**
   * An id for which the registry gives no schema.
   *
   * @param untilNanos until when it is asked for, or, if it was rejected, not asked for again
   * @param rejection what records with it are told; empty while it is asked for
   */
  private record OddId(long untilNanos, Optional<RejectedException> rejection) {
    boolean isOver() {
      return System.nanoTime() - untilNanos >= 0;
    }
  }

  /**
   * @param url address of the registry, for messages
   * @param client asks for other things than ids
   * @param lookup asks for ids
   * @param missing how long an id is asked for that the registry says it lacks: a follower may lag
   */
  WriterSchemas(String url, SchemaRegistryClient client, Lookup lookup, Duration missing) {
    this.url = url;
    this.client = client;
    this.lookup = lookup;
    missingNanos = missing.toNanos();
    budgetNanos = missingNanos * UNCLEAR_FACTOR;
  }

  /** Tells of a schema that the registry has. */
  void add(int id, Schema schema) {
    found.put(id, schema);
    knownId = OptionalInt.of(id);
  }

  /**
   * Returns the schema of an id.
   *
   * @param subject a subject whose schema shows whether the registry works
   * @throws RejectedException if records with this id are invalid
   * @throws UndecidedSchemaException if that is not known yet
   * @throws RegistryUnavailableException if the registry does not answer, for any id
   */
  Schema get(int id, String subject) {
    Schema known = found.get(id);
    if (known != null) {
      return known;
    }
    OddId before = odd.get(id);
    if (before != null && before.rejection.isPresent() && !before.isOver()) {
      throw again(before.rejection.get());
    }
    RejectedException rejection;
    try {
      return ask(id);
    } catch (RejectedException lasting) {
      rejection = lasting;
    } catch (IOException | RestClientException | RuntimeException first) {
      if (!answersOthers(id, subject)) {
        // What was heard of this id during an outage proves nothing.
        odd.computeIfPresent(id, (i, o) -> o.rejection.isPresent() ? o : null);
        throw unavailable(first);
      }
      if (!odd.computeIfAbsent(id, i -> waited(RegistryErrors.isMissing(first))).isOver()) {
        throw new UndecidedSchemaException(
            "The schema registry at %s gives no schema %d yet: %s"
                .formatted(url, id, RegistryErrors.answer(first)),
            first);
      }
      try {
        // It may have come back after the first answer, so that it answered for the others.
        return ask(id);
      } catch (RejectedException lasting) {
        rejection = lasting;
      } catch (IOException | RestClientException | RuntimeException e) {
        rejection = missing(id, e);
      }
    }
    odd.put(id, new OddId(System.nanoTime() + REJECTED_FOR_NANOS, Optional.of(rejection)));
    throw again(rejection);
  }

  RegistryUnavailableException unavailable(Throwable answer) {
    return new RegistryUnavailableException(
        "The schema registry at %s does not answer: %s; %s"
            .formatted(url, RegistryErrors.answer(answer), RegistryErrors.advice(answer)),
        answer);
  }

  private RejectedException missing(int id, Exception answer) {
    return RejectionReason.UNKNOWN_SCHEMA.failure(
        "The record's schema id must be in the registry at %s, got %d, for which it answers %s. Maybe the record was written with another registry"
            .formatted(url, id, RegistryErrors.answer(answer)));
  }

  private static RejectedException again(RejectedException rejection) {
    return rejection.reason().failure(rejection.getMessage());
  }

  private synchronized OddId waited(boolean isMissing) {
    long longest = missingNanos * UNCLEAR_FACTOR;
    long now = System.nanoTime();
    budgetNanos = Math.min(longest, budgetNanos + (now - budgetAt) / SHARE_OF_TIME);
    budgetAt = now;
    long wait = Math.min(budgetNanos, isMissing ? missingNanos : longest);
    budgetNanos -= wait;
    return new OddId(now + wait, Optional.empty());
  }

  /** Returns whether the registry gives the schema of another id than an odd one. */
  private boolean answersOthers(int id, String subject) {
    return answersOther(id, () -> knownId.orElse(id))
        || answersOther(id, () -> client.getLatestSchemaMetadata(subject).getId());
  }

  private boolean answersOther(int id, Callable<Integer> other) {
    try {
      int asked = other.call();
      return asked != id && lookup.byId(asked).getSchemaString() != null;
    } catch (Exception e) {
      return false;
    }
  }

  /**
   * Looks an id up.
   *
   * @throws RejectedException if its schema, which the registry has, is none to read records with
   */
  private Schema ask(int id) throws IOException, RestClientException {
    SchemaString answer = lookup.byId(id);
    Objects.requireNonNull(answer.getSchemaString());
    if (!Optional.ofNullable(answer.getSchemaType()).orElse(AVRO).equals(AVRO)) {
      throw lasting(
          id, "an Avro schema; at %s it is of type %s".formatted(url, answer.getSchemaType()));
    }
    Map<String, String> references = new LinkedHashMap<>();
    resolve(answer.getReferences(), references);
    try {
      AvroSchema schema =
          new AvroSchema(answer.getSchemaString(), answer.getReferences(), references, null);
      add(id, Objects.requireNonNull(schema.rawSchema()));
    } catch (RuntimeException | StackOverflowError e) {
      // Avro's parser throws several types, and recurses as deep as the schema is nested.
      throw lasting(
          id,
          "an Avro schema that Java can read; at %s it is not: %s"
              .formatted(url, RegistryErrors.quoted(Causes.describe(e))));
    }
    odd.remove(id);
    return found.get(id);
  }

  private static RejectedException lasting(int id, String expected) {
    return RejectionReason.UNDECODABLE.failure(
        "The record's schema id %d must be of %s".formatted(id, expected));
  }

  /** Adds the texts of named schemas, those that others refer to first. */
  private void resolve(List<SchemaReference> references, Map<String, String> texts)
      throws RestClientException {
    if (references == null) {
      return;
    }
    for (SchemaReference each : references) {
      if (!texts.containsKey(each.getName())) {
        // Before its own references: schemas that refer to each other must not be resolved for
        // ever.
        texts.put(each.getName(), "");
        io.confluent.kafka.schemaregistry.client.rest.entities.Schema schema = get(each);
        resolve(schema.getReferences(), texts);
        texts.remove(each.getName());
        texts.put(each.getName(), schema.getSchema());
      }
    }
  }

  private io.confluent.kafka.schemaregistry.client.rest.entities.Schema get(
      SchemaReference reference) throws RestClientException {
    try {
      return client.getByVersion(reference.getSubject(), reference.getVersion(), true);
    } catch (RuntimeException e) {
      if (RegistryErrors.cause(e) instanceof RestClientException answer) {
        throw new RestClientException(
            "for its reference %s, version %d of subject %s: %s"
                .formatted(
                    reference.getName(),
                    reference.getVersion(),
                    reference.getSubject(),
                    RegistryErrors.text(answer)),
            answer.getStatus(),
            answer.getErrorCode());
      }
      throw e;
    }
  }

  /** Returns the lookup of a client in memory. */
  static Lookup lookup(SchemaRegistryClient client) {
    return id -> {
      ParsedSchema schema = client.getSchemaById(id);
      SchemaString answer = new SchemaString(schema.canonicalString());
      answer.setSchemaType(schema.schemaType());
      answer.setReferences(schema.references());
      return answer;
    };
  }
}
