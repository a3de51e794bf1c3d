package io.shardtide.models;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.FloatBuffer;
import java.util.ArrayList;
import java.util.List;
import org.apache.avro.Schema;
import org.apache.avro.generic.PrimitivesArrays.FloatArray;

/** Converts between float arrays and Avro's lists and bytes, without boxing where Avro allows. */
public final class Floats {
  private static final Schema LIST = Schema.createArray(Schema.create(Schema.Type.FLOAT));

  private Floats() {}

  /** Returns a list of the numbers. */
  public static List<Float> toList(float[] values) {
    FloatArray list = new FloatArray(values.length, LIST);
    for (int i = 0; i < values.length; i++) {
      list.add(i, values[i]);
    }
    return list;
  }

  /** Returns an array of the numbers. */
  public static float[] toArray(List<Float> values) {
    float[] array = new float[values.size()];
    if (values instanceof FloatArray floats) {
      for (int i = 0; i < array.length; i++) {
        array[i] = floats.getFloat(i);
      }
    } else {
      for (int i = 0; i < array.length; i++) {
        array[i] = values.get(i);
      }
    }
    return array;
  }

  /**
   * Returns arrays one after another, little endian.
   *
   * @throws IllegalArgumentException if they are not of one length
   */
  public static ByteBuffer toBytes(List<float[]> arrays) {
    int length = arrays.isEmpty() ? 0 : arrays.get(0).length;
    ByteBuffer bytes =
        ByteBuffer.allocate(arrays.size() * length * Float.BYTES).order(ByteOrder.LITTLE_ENDIAN);
    FloatBuffer floats = bytes.asFloatBuffer();
    for (float[] array : arrays) {
      if (array.length != length) {
        throw new IllegalArgumentException(
            "arrays must be of one length, got %s and %s".formatted(length, array.length));
      }
      floats.put(array);
    }
    return bytes;
  }

  /**
   * Returns so many arrays of one length; see {@link #toBytes}.
   *
   * @throws IllegalArgumentException if the bytes are not those of so many arrays
   */
  public static List<float[]> ofBytes(ByteBuffer bytes, int count) {
    int length = count == 0 ? 0 : bytes.remaining() / count / Float.BYTES;
    if (bytes.remaining() != count * length * Float.BYTES) {
      throw new IllegalArgumentException(
          "bytes of %s arrays of floats must be a multiple of %s, got %s"
              .formatted(count, count * Float.BYTES, bytes.remaining()));
    }
    FloatBuffer floats = bytes.duplicate().order(ByteOrder.LITTLE_ENDIAN).asFloatBuffer();
    List<float[]> arrays = new ArrayList<>(count);
    for (int i = 0; i < count; i++) {
      float[] array = new float[length];
      floats.get(array);
      arrays.add(array);
    }
    return arrays;
  }
}
