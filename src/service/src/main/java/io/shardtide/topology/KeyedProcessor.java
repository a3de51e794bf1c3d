package io.shardtide.topology;

import static io.shardtide.wire.TopicType.QUARANTINE;
import static io.shardtide.wire.TopicType.REJECTED_EVENTS;

import io.shardtide.config.BuildVersion;
import io.shardtide.wire.Decoded;
import io.shardtide.wire.RecordDecoder;
import io.shardtide.wire.TopicType;
import io.shardtide.wire.UndecidedSchemaException;
import io.shardtide.workload.Bytes;
import io.shardtide.workload.HeldRecord;
import io.shardtide.workload.Quarantine;
import io.shardtide.workload.QuarantineBuilder;
import io.shardtide.workload.RejectedEvent;
import io.shardtide.workload.RejectedException;
import io.shardtide.workload.RejectionReason;
import io.shardtide.workload.SourcePosition;
import java.time.Instant;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.Supplier;
import java.util.stream.DoubleStream;
import org.apache.kafka.common.header.Headers;
import org.apache.kafka.common.header.internals.RecordHeaders;
import org.apache.kafka.common.serialization.Serde;
import org.apache.kafka.common.serialization.Serdes;
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

  private static final String PENDING = "pending work";

  final PlannerMetrics metrics;
  final RegistryRetry retry;
  final Skeleton skeleton;
  private final Map<String, Input<?>> inputs = new HashMap<>();
  Attempts attempts;
  private ProcessorContext<String, Object> context;
  private WaitingRoom room;
  private final List<Runnable> atClose = new ArrayList<>();
  private CommitPace pace;
  private long seenModels = -1;

  KeyedProcessor(Skeleton skeleton) {
    this.skeleton = skeleton;
    metrics = skeleton.metrics();
    retry = skeleton.retry();
    attempts = new Attempts(skeleton);
  }

  /** Handles the records of a topic; called by constructors. */
  final <V> Input<V> on(TopicType<V> type, Input.Handler<V> handler) {
    Input<V> input = new Input<>(skeleton, type, handler);
    inputs.put(skeleton.topics().of(type).name(), input);
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

  @SuppressWarnings("unchecked") // The caller names a store of such values.
  private <V> KeyedStore<V> open(StoreName name) {
    return new KeyedStore<>(
        context.getStateStore(name.toString()),
        (Serde<V>) name.serde(),
        () -> {
          attempts.written();
          pace.changed();
        });
  }

  /** Shows values of this task until it is closed; other threads ask for them. */
  final void show(Metric metric, Supplier<DoubleStream> values, Object... tags) {
    atClose(metrics.show(metric, values, tags));
  }

  /** Opens the latest records of a topic; called by {@link #open}. */
  final <V> LatestRecords<V> latest(TopicType<V> type) {
    return new LatestRecords<>(context, skeleton, skeleton.topics().of(type));
  }

  /** Has something done when the task is closed. */
  final void atClose(Runnable action) {
    atClose.add(action);
  }

  @Override
  public final void process(Record<byte[], byte[]> record) {
    begin();
    RecordMetadata metadata = context.recordMetadata().orElseThrow();
    receive(
        inputs.get(metadata.topic()),
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
    room.settle(this::nowMs, this::settle);
    work();
    pace.done();
  }

  private void begin() {
    if (room == null) {
      StoreName name = StoreName.quarantine(skeleton.name());
      // That a record waits is no write of its handler.
      room =
          new WaitingRoom(
              new KeyedStore<>(
                  context.getStateStore(name.toString()), Serdes.ByteArray(), pace::changed),
              name);
      atClose(metrics.show(room));
      show(Metric.QUARANTINE_KEYS, () -> DoubleStream.of(room.all().size()), skeleton.name());
      show(Metric.WAITING_RECORDS, () -> DoubleStream.of(room.records()), skeleton.name());
      resume();
      room.all().stream()
          .filter(held -> held.deleted() || !skeleton.failed().isHere(held.key()))
          .forEach(this::release);
    }
  }

  /** Handles a record that arrives, or has it wait. */
  private <V> void receive(Input<V> input, HeldRecord record) {
    String key = WaitingRoom.key(record);
    if (!room.hasArriving(key)) {
      handleIfReady(input, record, false).ifPresent(reason -> await(input, record, reason));
    } else if (room.hasRoom(record)) {
      room.add(record);
    } else {
      retry.until(
          () -> settleAll(key) || room.hasRoom(record),
          noRoom(record, "the records of its key before it"));
      receive(input, record);
    }
  }

  /** Tries the records of a key in their order; returns whether none arrives any more. */
  private boolean settleAll(String key) {
    boolean waits = false;
    while (!waits && room.hasArriving(key)) {
      waits = settle(key).isPresent();
    }
    return !waits;
  }

  /** Has a record wait, the first of its key: beside the others, or in the partition. */
  private <V> void await(Input<V> input, HeldRecord record, WaitingRoom.Reason reason) {
    if (room.hasRoom(record)) {
      log.info("{} and later records of its key wait for {}", record.source(), reason);
      room.add(record, reason);
    } else {
      retry.until(
          () -> handleIfReady(input, record, false).isEmpty(), noRoom(record, reason.toString()));
    }
  }

  private static String noRoom(HeldRecord record, String reason) {
    return "%s: %s has no room among the records that wait, at most %d MiB of a key and %d MiB of a partition"
        .formatted(reason, record.source(), WaitingRoom.KEY_MIB, WaitingRoom.TASK_MIB);
  }

  /** Decodes a record; empty if its schema is not known yet. */
  private <V> Optional<Decoded<V>> decode(Input<V> input, HeldRecord record) {
    return retry.call(
        () -> {
          try {
            return Optional.of(input.decode(record));
          } catch (UndecidedSchemaException e) {
            return Optional.empty();
          }
        });
  }

  /**
   * Handles a record, or holds it if its key is in quarantine, unless it must wait.
   *
   * @param waited whether it is the first of its key that arrives; it no longer is if it is handled
   * @return what it waits for; empty if it was handled, held or rejected
   */
  private <V> Optional<WaitingRoom.Reason> handleIfReady(
      Input<V> input, HeldRecord record, boolean waited) {
    Optional<Decoded<V>> decoded = decode(input, record);
    if (decoded.isEmpty()) {
      return Optional.of(WaitingRoom.Reason.SCHEMA);
    }
    if (decoded.get() instanceof Decoded.Value<V> value) {
      if (room.isHeld(WaitingRoom.key(record))) {
        holdOrReject(input, value.value(), record, waited);
      } else if (input.ready.test(value.value())) {
        handle(input, value.value(), record, waited);
      } else {
        return Optional.of(WaitingRoom.Reason.MODEL);
      }
    } else {
      if (decoded.get() instanceof Decoded.Invalid<V> invalid && input.rejects) {
        reject(invalid.rejection(), record.timestamp());
      }
      if (waited) {
        room.removeFirst(WaitingRoom.key(record), false);
      }
    }
    return Optional.empty();
  }

  private <V> void handle(Input<V> input, V value, HeldRecord record, boolean waited) {
    String key = input.key(value);
    Optional<Quarantine> ended = room.of(key);
    ended.ifPresent(this::leave);
    Optional<Attempts.Failure> failure = attempt(input, key, value, record);
    if (failure.isPresent()) {
      Quarantine entered = enter(key, failure.get(), Optional.of(record.source()));
      hold(input, entered, record, input.deletes.test(value), waited);
    } else if (waited) {
      room.removeFirst(key, false);
    }
    ended.ifPresent(left -> isolate(key, PENDING, () -> resume(key)));
  }

  /** Handles or rejects a record; returns why it failed, empty if it did not. */
  private <V> Optional<Attempts.Failure> attempt(
      Input<V> input, String key, V value, HeldRecord record) {
    Optional<Attempts.Failure> failure =
        attempts.attempt(key, "record " + record.source(), () -> input.handle(value, record));
    Optional<RejectedException> rejection = failure.flatMap(Attempts.Failure::rejection);
    rejection.ifPresent(e -> reject(record, e));
    return rejection.isPresent() ? Optional.empty() : failure;
  }

  /** Holds a record of a key in quarantine, or rejects it; a deletion releases the key. */
  private <V> void holdOrReject(Input<V> input, V value, HeldRecord record, boolean waited) {
    String key = input.key(value);
    boolean deletes = input.deletes.test(value);
    hold(input, room.of(key).orElseThrow(), record, deletes, waited);
    if (deletes) {
      Quarantine deleted =
          QuarantineBuilder.builder(room.of(key).orElseThrow())
              .deleted(true)
              .incomplete(false)
              .build();
      room.put(deleted);
      release(deleted);
    }
  }

  /** Holds a record of a key in quarantine, or rejects it. A deletion is small, and always held. */
  private void hold(
      Input<?> input, Quarantine of, HeldRecord record, boolean deletes, boolean waited) {
    if (waited) {
      room.holdFirst(of.key());
    } else if (deletes || room.hasRoom(record)) {
      room.hold(record);
    } else {
      reject(record, tooMany(of));
      if (input.gapless && !of.incomplete()) {
        room.put(QuarantineBuilder.builder(of).incomplete(true).build());
      }
    }
  }

  private static RejectedException tooMany(Quarantine of) {
    return RejectionReason.QUARANTINED.failure(
        "\"%s\" is in the quarantine of the %s topology, which holds at most %d MiB of its records and %d MiB of all of a partition, and this one is beyond: %s"
            .formatted(
                of.key(), of.topology(), WaitingRoom.KEY_MIB, WaitingRoom.TASK_MIB, of.error()));
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
    if (room.of(key).isPresent()) {
      return Optional.empty();
    }
    Optional<Attempts.Failure> failure = attempts.attempt(key, work, action);
    failure.ifPresent(f -> enter(key, f, Optional.empty()));
    return failure.map(Attempts.Failure::error);
  }

  /**
   * Puts a key into quarantine.
   *
   * @param source the record that failed, if it was one
   */
  private Quarantine enter(String key, Attempts.Failure failure, Optional<SourcePosition> source) {
    Quarantine entered =
        new Quarantine(
            skeleton.name().toString(),
            key,
            true,
            failure.error(),
            source,
            failure.aborted(),
            room.of(key).map(Quarantine::incomplete).orElse(false),
            false,
            VERSION,
            Instant.ofEpochMilli(nowMs()));
    room.put(entered);
    skeleton.failed().entered(key);
    metrics.count(Metric.QUARANTINE_ENTERED, skeleton.name());
    log.error(
        "\"{}\" is in the quarantine of the {} topology, and its records wait: {}. See docs/RUNBOOK.md, A key is in quarantine",
        key,
        skeleton.name(),
        failure.error());
    report(key, entered, nowMs(), QUARANTINE);
    return entered;
  }

  private void leave(Quarantine held) {
    room.remove(held.key());
    skeleton.failed().released(held.key());
    log.info("\"{}\" left the quarantine of the {} topology", held.key(), skeleton.name());
    report(held.key(), held.left(VERSION, Instant.ofEpochMilli(nowMs())), nowMs(), QUARANTINE);
  }

  /** Releases all keys, because what failed may have changed: those that still fail stay. */
  final void releaseAll() {
    room.all().forEach(this::release);
  }

  /** Returns whether models changed since the last call; what failed is released then. */
  final boolean changed(ArrivingModels models) {
    long now = models.changes();
    boolean changed = now != seenModels;
    // What a start releases, begin() knows.
    if (changed && seenModels >= 0) {
      releaseAll();
    }
    seenModels = now;
    return changed;
  }

  private void release(Quarantine held) {
    if (!held.incomplete() || held.deleted()) {
      // A release that is interrupted begins again.
      skeleton.failed().released(held.key());
      room.release(held.key());
    }
  }

  /**
   * Tries the first waiting record of a key, or lets a released key leave quarantine if none is
   * held; returns what the record waits for, empty if it no longer does.
   */
  private Optional<WaitingRoom.Reason> settle(String key) {
    boolean released = room.isReleased(key);
    Optional<HeldRecord> first = room.first(key, released);
    if (first.isEmpty()) {
      room.of(key).ifPresent(this::leave);
      isolate(key, PENDING, () -> resume(key));
      return Optional.empty();
    }
    Input<?> input = inputs.get(first.get().source().topic());
    if (input != null) {
      return released
          ? settleHeld(input, key, first.get())
          : handleIfReady(input, first.get(), true);
    }
    reject(first.get(), notRead(first.get()));
    room.removeFirst(key, released);
    return Optional.empty();
  }

  private RejectedException notRead(HeldRecord record) {
    return RejectionReason.QUARANTINED.failure(
        "A planner before held this record in the %s topology, which reads %s no longer in %s"
            .formatted(skeleton.name(), record.source().topic(), VERSION));
  }

  /** Tries the first record of a key that is released. */
  private <V> Optional<WaitingRoom.Reason> settleHeld(
      Input<V> input, String key, HeldRecord record) {
    Optional<Decoded<V>> decoded = decode(input, record);
    if (decoded.isEmpty()) {
      return Optional.of(WaitingRoom.Reason.SCHEMA);
    }
    Quarantine held = room.of(key).orElseThrow();
    if (decoded.get() instanceof Decoded.Value<V> value) {
      if (!input.ready.test(value.value())) {
        return Optional.of(WaitingRoom.Reason.MODEL);
      }
      boolean deletes = input.deletes.test(value.value());
      Optional<Attempts.Failure> failure = attempt(input, key, value.value(), record);
      if (failure.isPresent() && (deletes || !held.deleted())) {
        enter(key, failure.get(), Optional.of(record.source()));
        return Optional.empty();
      }
      failure.ifPresent(f -> reject(record, failedUntilDeleted(key, f)));
      room.removeFirst(key, true);
      if (deletes) {
        Quarantine deleted = QuarantineBuilder.builder(held).deleted(false).build();
        room.put(deleted);
        release(deleted);
      }
    } else if (decoded.get() instanceof Decoded.Invalid<V> invalid) {
      // It could be decoded when it came; others may build on it.
      if (input.gapless && !held.deleted()) {
        enter(
            key,
            new Attempts.Failure(
                "record %s: %s".formatted(record.source(), invalid.rejection().message()),
                held.aborted(),
                Optional.empty()),
            Optional.of(record.source()));
      } else {
        reject(invalid.rejection(), record.timestamp());
        room.removeFirst(key, true);
      }
    }
    return Optional.empty();
  }

  private static RejectedException failedUntilDeleted(String key, Attempts.Failure failure) {
    return RejectionReason.QUARANTINED.failure(
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
    metrics.count(Metric.EVENTS_REJECTED, rejection.reason());
    report(rejection.workloadId().orElse(null), rejection, timestamp, REJECTED_EVENTS);
  }

  /** Writes a record; a null value is a tombstone. */
  final void forward(String key, Object value, long timestamp, TopicType<?> sink) {
    forward(key, value, timestamp, new RecordHeaders(), sink);
  }

  /** Writes a record with headers. */
  final void forward(String key, Object value, long timestamp, Headers headers, TopicType<?> sink) {
    attempts.written();
    context.forward(new Record<>(key, value, timestamp, headers), TopologyName.sink(sink));
    pace.changed();
  }

  /** Writes a record that is not a handler's, for others to read. */
  private void report(String key, Object value, long timestamp, TopicType<?> sink) {
    context.forward(new Record<>(key, value, timestamp), TopologyName.sink(sink));
    written();
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
  public final void close() {
    atClose.forEach(Runnable::run);
  }
}
