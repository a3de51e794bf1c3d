package io.shardtide.wire;

import java.util.AbstractList;
import java.util.List;
import java.util.RandomAccess;
import org.apache.avro.generic.PrimitivesArrays.FloatArray;

/** Converts between float arrays and Avro's lists, without boxing where Avro allows it. */
final class Floats {
  private Floats() {}

  /** Returns a list view of the array. */
  static List<Float> toList(float[] values) {
    return new View(values);
  }

  static float[] toArray(List<Float> values) {
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

  private static final class View extends AbstractList<Float> implements RandomAccess {
    private final float[] values;

    View(float[] values) {
      this.values = values;
    }

    @Override
    public Float get(int index) {
      return values[index];
    }

    @Override
    public int size() {
      return values.length;
    }
  }
}
