package io.shardtide.workload;

import java.lang.reflect.RecordComponent;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.time.Instant;
import java.util.Collection;
import java.util.HexFormat;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.UUID;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Consumer;

/**
 * SHA-256 over a sequence of values in a canonical encoding: numbers big-endian, doubles by their
 * bits, strings and lists preceded by their length. Independent of Avro and of schema versions, so
 * that ids survive changes of both.
 */
public final class CanonicalHash {
  private static final int SHOWN_DIGITS = 12;

  /** Kept, since reflection takes long. */
  private static final Map<Class<?>, RecordComponent[]> COMPONENTS = new ConcurrentHashMap<>();

  private final MessageDigest digest;
  private final ByteBuffer scratch = ByteBuffer.allocate(Long.BYTES);

  /** Starts with the kind of the content, so that two kinds never share an id. */
  public CanonicalHash(String kind) {
    try {
      digest = MessageDigest.getInstance("SHA-256");
    } catch (NoSuchAlgorithmException e) {
      throw new AssertionError("Every Java platform has SHA-256", e);
    }
    put(kind);
  }

  /** Adds a whole number. */
  public CanonicalHash put(long value) {
    scratch.clear();
    digest.update(scratch.putLong(value).array());
    return this;
  }

  /** Adds a number by its bits; all NaN are equal. */
  public CanonicalHash put(double value) {
    return put(Double.doubleToLongBits(value));
  }

  /** Adds a text in UTF-8. */
  public CanonicalHash put(String value) {
    byte[] bytes = value.getBytes(StandardCharsets.UTF_8);
    put(bytes.length);
    digest.update(bytes);
    return this;
  }

  /** Adds an array of numbers by their bits. */
  public CanonicalHash put(float[] values) {
    ByteBuffer bytes = ByteBuffer.allocate(values.length * Float.BYTES);
    for (float value : values) {
      bytes.putInt(Float.floatToIntBits(value));
    }
    put(values.length);
    digest.update(bytes.array());
    return this;
  }

  /**
   * Adds a value of any kind: of a record its components, of a collection or a map its size and all
   * that it holds; a constant by its name, a moment in milliseconds since 1970, true as 1. An
   * absent text or constant is an empty text, an absent number 0.
   */
  public CanonicalHash put(Object value) {
    if (value instanceof Record of) {
      return putAll(of);
    } else if (value instanceof Collection<?> items) {
      return putAll(items, this::put);
    } else if (value instanceof Map<?, ?> map) {
      return putAll(map.entrySet(), entry -> put(entry.getKey()).put(entry.getValue()));
    } else if (value instanceof Optional<?> optional) {
      Object held = optional.isPresent() ? optional.get() : "";
      return put(held instanceof Boolean ? held.toString() : held);
    } else if (value instanceof OptionalDouble optional) {
      return put(optional.orElse(0));
    } else if (value instanceof Double || value instanceof Float) {
      return put(((Number) value).doubleValue());
    } else if (value instanceof Number number) {
      return put(number.longValue());
    } else if (value instanceof Boolean is) {
      return put(is ? 1 : 0);
    } else if (value instanceof Instant moment) {
      return put(moment.toEpochMilli());
    } else if (value instanceof float[] numbers) {
      return put(numbers);
    }
    return put(value instanceof Enum<?> constant ? constant.name() : (String) value);
  }

  private CanonicalHash putAll(Record of) {
    for (RecordComponent component : components(of)) {
      put(Reflected.value(component, of));
    }
    return this;
  }

  static RecordComponent[] components(Record of) {
    return COMPONENTS.computeIfAbsent(of.getClass(), Class::getRecordComponents);
  }

  /** Adds the number of items, then each in its order. */
  public <T> CanonicalHash putAll(Collection<T> items, Consumer<T> each) {
    put(items.size());
    items.forEach(each);
    return this;
  }

  /** Returns the beginning of an id, for display. */
  public static String shown(String id) {
    return id.length() > SHOWN_DIGITS ? id.substring(0, SHOWN_DIGITS) : id;
  }

  /** Returns an id of 128 bits. This hash cannot be used again. */
  public UUID uuid() {
    return UUID.nameUUIDFromBytes(hex().getBytes(StandardCharsets.UTF_8));
  }

  /** Returns 64 lower-case hexadecimal digits. This hash cannot be used again. */
  public String hex() {
    return HexFormat.of().formatHex(digest.digest());
  }
}
