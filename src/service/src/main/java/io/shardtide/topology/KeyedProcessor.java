package io.shardtide.topology;

import io.shardtide.config.BuildVersion;
import io.shardtide.domain.Bytes;
import io.shardtide.domain.HeldRecord;
import io.shardtide.domain.Quarantine;
import io.shardtide.domain.QuarantineBuilder;
import io.shardtide.domain.RejectedEvent;
import io.shardtide.domain.RejectedException;
import io.shardtide.domain.RejectionReason;
import io.shardtide.domain.SourcePosition;
import io.shardtide.wire.Decoded;
import io.shardtide.wire.RecordDecoder;
import io.shardtide.wire.Topic;
import java.time.Instant;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;
import java.util.function.Function;
import org.apache.kafka.common.header.Headers;
import org.apache.kafka.streams.processor.PunctuationType;
import org.apache.kafka.streams.processor.api.Processor;
import org.apache.kafka.streams.processor.api.ProcessorContext;
import org.apache.kafka.streams.processor.api.Record;
import org.apache.kafka.streams.processor.api.RecordMetadata;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The skeleton of a topology's processor: decodes records, isolates their keys from each other, has
 * them handled, and commits.
 *
 * <p>A key whose record or due work fails is put into quarantine, and the partition goes on: at
 * once if nothing was written yet, otherwise after the transaction was aborted, at the next
 * attempt. Its records are held, and handled in order when it is released: see {@link
 * #releaseAll()}, and RATIONALE.md. Errors of Kafka, the registry and the disk are not a key's
 * fault: they end the thread, which is replaced.
 */
abstract class KeyedProcessor implements Processor<byte[], byte[], String, Object> {
  private static final Logger log = LoggerFactory.getLogger(KeyedProcessor.class);
  private static final String VERSION = BuildVersion.text();

  /** How many held records a tick handles, so that a release does not hold up other keys. */
  private static final int RELEASED_AT_ONCE = 100;

  private static final String PENDING = "pending work";

  private final Skeleton skeleton;
  private final Map<String, Input<?>> inputs = new HashMap<>();

  /** Keys that are being released, in order. */
  private final Deque<String> leaving = new ArrayDeque<>();

  private final Attempts attempts;
  private ProcessorContext<String, Object> context;
  private QuarantineStore quarantine;
  private UndecidedRecords undecided;
  private QuarantineMetrics.Shown shown = () -> {};
  private CommitPace pace;

  KeyedProcessor(Skeleton skeleton) {
    this.skeleton = skeleton;
    attempts = new Attempts(skeleton);
  }

  /** Handles the records of a topic; called by constructors. */
  final <V> Input<V> on(Topic<V> topic, Function<V, String> keyOf, Input.Handler<V> handler) {
    Input<V> input = new Input<>(skeleton.registry(), topic, keyOf, handler);
    inputs.put(topic.name(), input);
    return input;
  }

  /** Opens the stores; reads nothing yet. */
  abstract void open(KeyedStore.Opener stores);

  /** Continues the pending work of an instance that ended: once, before anything else. */
  void resume() {}

  /** Continues the pending work of a key that left quarantine. */
  void resume(String key) {}

  /** Does due work, each key's with {@link #isolate}. */
  void work() {}

  @Override
  public final void init(ProcessorContext<String, Object> newContext) {
    context = newContext;
    pace = new CommitPace(newContext);
    open(this::open);
    context.schedule(skeleton.name().tick(), PunctuationType.WALL_CLOCK_TIME, now -> tick());
  }

  private <V> KeyedStore<V> open(StoreName name) {
    return new KeyedStore<>(
        context.getStateStore(name.toString()),
        () -> {
          attempts.written();
          pace.changed();
        });
  }

  /** Opens the latest records of a topic; called by {@link #open}. */
  final <V> LatestRecords<V> latest(Topic<V> topic, Function<V, String> keyOf) {
    return new LatestRecords<>(context, skeleton, topic, keyOf);
  }

  @Override
  public final void process(Record<byte[], byte[]> record) {
    begin();
    RecordMetadata metadata = context.recordMetadata().orElseThrow();
    undecided.receive(
        new HeldRecord(
            new SourcePosition(metadata.topic(), metadata.partition(), metadata.offset()),
            record.timestamp(),
            Optional.ofNullable(record.key()).map(Bytes::copyOf),
            Optional.ofNullable(record.value()).map(Bytes::copyOf)));
    pace.changed();
    pace.done();
  }

  private void tick() {
    begin();
    undecided.settle(this::nowMs);
    release();
    work();
    pace.done();
  }

  private void begin() {
    if (quarantine == null) {
      StoreName name = StoreName.quarantine(skeleton.name());
      // Holding a record is no write of its handler.
      KeyedStore<byte[]> held =
          new KeyedStore<>(context.getStateStore(name.toString()), pace::changed);
      quarantine = new QuarantineStore(held, name);
      undecided = new UndecidedRecords(held, name, this::isReceived);
      shown = skeleton.metrics().quarantine().show(skeleton.name(), quarantine::all);
      resume();
      quarantine.all().stream()
          .filter(q -> q.deleted() || q.at().toEpochMilli() < skeleton.builtMs())
          .forEach(this::releases);
    }
  }

  /** Handles a record; returns false if it can wait for its schema, or for what it names. */
  private boolean isReceived(HeldRecord record) {
    Input<?> input = inputs.get(record.source().topic());
    return input == null || isReceived(input, record);
  }

  private <V> boolean isReceived(Input<V> input, HeldRecord record) {
    Optional<Decoded<V>> decoded =
        skeleton.retry().call(() -> undecided.unless(record, () -> input.decode(record)));
    if (decoded.isEmpty() || waits(input, record, decoded.get())) {
      return false;
    }
    receive(input, record, decoded.get());
    return true;
  }

  private <V> boolean waits(Input<V> input, HeldRecord record, Decoded<V> decoded) {
    boolean waits = decoded instanceof Decoded.Value<V> value && !input.isReady(value.value());
    if (waits) {
      undecided.requireRoom(record);
    }
    return waits;
  }

  private <V> void receive(Input<V> input, HeldRecord record, Decoded<V> decoded) {
    if (decoded instanceof Decoded.Value<V> value) {
      String key = input.key(value.value());
      Optional<Quarantine> held = quarantine.of(key);
      if (held.isPresent() && !held.get().endsWithNextRecord()) {
        hold(input, held.get(), value.value(), record);
      } else {
        held.ifPresent(this::leave);
        handle(input, key, value.value(), record)
            .ifPresent(failure -> enter(key, failure, Optional.of(record)));
        held.ifPresent(left -> isolate(key, PENDING, () -> resume(key)));
      }
    } else if (decoded instanceof Decoded.Invalid<V> invalid && input.rejects()) {
      reject(invalid.rejection(), record.timestamp());
    }
  }

  /** Handles or rejects a record; returns why it failed, empty if it did not. */
  private <V> Optional<Attempts.Failure> handle(
      Input<V> input, String key, V value, HeldRecord record) {
    Optional<Attempts.Failure> failure =
        attempts.attempt(key, "record " + record.source(), () -> input.handle(value, record));
    Optional<RejectedException> rejection = failure.flatMap(Attempts.Failure::rejection);
    rejection.ifPresent(e -> reject(record, e));
    return rejection.isPresent() ? Optional.empty() : failure;
  }

  /** Holds a record of a key in quarantine, or rejects it. */
  private <V> void hold(Input<V> input, Quarantine of, V value, HeldRecord record) {
    boolean deletes = input.deletes(value);
    if (deletes || quarantine.hasRoom(of.key(), record)) {
      quarantine.hold(of.key(), record);
    } else {
      reject(record, tooMany(of));
      if (input.isGapless() && !of.incomplete()) {
        quarantine.put(QuarantineBuilder.builder(of).incomplete(true).build());
      }
    }
    if (deletes) {
      Quarantine deleted = QuarantineBuilder.builder(of).deleted(true).incomplete(false).build();
      quarantine.put(deleted);
      releases(deleted);
    }
  }

  private static RejectedException tooMany(Quarantine of) {
    return new RejectedException(
        RejectionReason.QUARANTINED,
        "\"%s\" is in the quarantine of the %s topology, which holds at most %d MiB of its records, and this one is beyond: %s"
            .formatted(of.key(), of.topology(), QuarantineStore.MAX_HELD_BYTES >> 20, of.error()));
  }

  /**
   * Does a key's due work; skipped while the key is in quarantine.
   *
   * @param key the key
   * @param work what is done, such as {@code "planning"}
   * @param action does it
   * @return the error, if it failed
   */
  final Optional<String> isolate(String key, String work, Runnable action) {
    if (quarantine.of(key).isPresent()) {
      return Optional.empty();
    }
    Optional<Attempts.Failure> failure = attempts.attempt(key, work, action);
    failure.ifPresent(f -> enter(key, f, Optional.empty()));
    return failure.map(Attempts.Failure::error);
  }

  /** Puts a key into quarantine, with the record that failed, if it is not held already. */
  private void enter(String key, Attempts.Failure failure, Optional<HeldRecord> failed) {
    Optional<Quarantine> before = quarantine.of(key);
    Quarantine entered =
        new Quarantine(
            skeleton.name().toString(),
            key,
            true,
            failure.error(),
            failed.map(HeldRecord::source),
            failure.aborted(),
            before.map(Quarantine::incomplete).orElse(false),
            false,
            VERSION,
            Instant.ofEpochMilli(nowMs()));
    quarantine.put(entered);
    if (before.isEmpty() && failed.isPresent()) {
      if (quarantine.hasRoom(key, failed.get())) {
        quarantine.hold(key, failed.get());
      } else {
        reject(failed.get(), tooMany(entered));
      }
    }
    skeleton.metrics().quarantine().entered(skeleton.name());
    log.error(
        "\"{}\" is in the quarantine of the {} topology, and its records wait: {}. See docs/OPERATING.md, A key is in quarantine",
        key,
        skeleton.name(),
        failure.error());
    send(key, entered, nowMs(), NodeName.WRITE_QUARANTINE);
    written();
  }

  private void leave(Quarantine held) {
    quarantine.remove(held.key());
    log.info("\"{}\" left the quarantine of the {} topology", held.key(), skeleton.name());
    send(
        held.key(),
        held.left(VERSION, Instant.ofEpochMilli(nowMs())),
        nowMs(),
        NodeName.WRITE_QUARANTINE);
    written();
  }

  /** Releases all keys, because what failed may have changed: those that still fail stay. */
  final void releaseAll() {
    quarantine.all().forEach(this::releases);
  }

  private void releases(Quarantine held) {
    if ((!held.incomplete() || held.deleted()) && !leaving.contains(held.key())) {
      leaving.add(held.key());
    }
  }

  /** Handles held records of keys that are released. */
  private void release() {
    for (int i = 0; i < RELEASED_AT_ONCE && !leaving.isEmpty(); i++) {
      String key = leaving.peek();
      Optional<Quarantine> held = quarantine.of(key);
      Optional<HeldRecord> next = held.isEmpty() ? Optional.empty() : quarantine.first(key);
      if (next.isPresent()) {
        if (!isReleased(inputs.get(next.get().source().topic()), held.get(), next.get())) {
          // Another key has its turn at the next tick.
          leaving.add(leaving.remove());
          return;
        }
      } else {
        leaving.remove();
        if (held.isPresent()) {
          leave(held.get());
          isolate(key, PENDING, () -> resume(key));
        }
      }
    }
  }

  /** Handles a held record; returns false if what it names is still being read. */
  private <V> boolean isReleased(Input<V> input, Quarantine held, HeldRecord record) {
    String key = held.key();
    // It could be decoded before.
    if (input != null
        && skeleton.retry().call(() -> input.decode(record)) instanceof Decoded.Value<V> value) {
      if (!input.isReady(value.value())) {
        return false;
      }
      boolean deletes = input.deletes(value.value());
      Optional<Attempts.Failure> failure = handle(input, key, value.value(), record);
      if (failure.isPresent() && (deletes || !held.deleted())) {
        leaving.remove(key);
        enter(key, failure.get(), Optional.of(record));
        return true;
      }
      failure.ifPresent(f -> reject(record, failedUntilDeleted(key, f)));
      if (deletes) {
        quarantine.put(QuarantineBuilder.builder(held).deleted(false).build());
        if (held.incomplete()) {
          leaving.remove(key);
        }
      }
    }
    quarantine.removeFirst(key);
    return true;
  }

  private static RejectedException failedUntilDeleted(String key, Attempts.Failure failure) {
    return new RejectedException(
        RejectionReason.QUARANTINED,
        "The record failed until \"%s\" was deleted: %s".formatted(key, failure.error()));
  }

  private void reject(HeldRecord record, RejectedException why) {
    reject(
        RecordDecoder.rejection(
            record.source(),
            record.key().map(Bytes::toArray).orElse(null),
            record.value().map(Bytes::toArray).orElse(null),
            why),
        record.timestamp());
  }

  /**
   * Reports that an event was applied, and that what follows from it failed.
   *
   * @param key key of the event
   * @param source its position in the log
   * @param message what failed, and what stays
   */
  final void failed(String key, SourcePosition source, String message, long timestamp) {
    reject(
        new RejectedEvent(
            source,
            Optional.of(key),
            RejectionReason.PLANNING_FAILED,
            message,
            Optional.empty(),
            Optional.empty()),
        timestamp);
  }

  private void reject(RejectedEvent rejection, long timestamp) {
    skeleton.metrics().rejected(rejection.reason());
    send(rejection.workloadId().orElse(null), rejection, timestamp, NodeName.WRITE_REJECTED);
    written();
  }

  /** Writes a record; a null value is a tombstone. */
  final void forward(String key, Object value, long timestamp, String sink) {
    attempts.written();
    send(key, value, timestamp, sink);
  }

  /** Writes a record with headers. */
  final void forward(String key, Object value, long timestamp, Headers headers, String sink) {
    attempts.written();
    context.forward(new Record<>(key, value, timestamp, headers), sink);
    pace.changed();
  }

  /** Writes a record that is not a handler's. */
  private void send(String key, Object value, long timestamp, String sink) {
    context.forward(new Record<>(key, value, timestamp), sink);
    pace.changed();
  }

  /** Reports output that others read: it is committed soon. */
  final void written() {
    pace.written();
  }

  /** Returns the time, in milliseconds since 1970. */
  final long nowMs() {
    return context.currentSystemTimeMs();
  }

  @Override
  public void close() {
    shown.close();
  }
}
