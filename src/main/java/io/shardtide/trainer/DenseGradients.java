package io.shardtide.trainer;

import java.util.ArrayList;
import java.util.List;

/**
 * The gradients of all elements of a device's copies of tables, and the device's part of the
 * all-reduce that adds them over all devices. Each device adds a slice, in the order of device
 * numbers, and the others copy it, so that all copies get the same bits.
 */
final class DenseGradients {
  private final int device;
  private final int devices;

  /** Gradients in chunks; those of this device's samples, after the all-reduce of the batch. */
  private final List<float[]> chunks;

  /** This device's slice of each chunk, added over all devices. */
  private final List<float[]> slices = new ArrayList<>();

  /**
   * @param device the device's number
   * @param devices number of devices
   * @param chunks gradients in chunks, equal in number and lengths on each device
   */
  DenseGradients(int device, int devices, List<float[]> chunks) {
    this.device = device;
    this.devices = devices;
    this.chunks = List.copyOf(chunks);
    for (float[] chunk : chunks) {
      slices.add(new float[begin(chunk, device + 1) - begin(chunk, device)]);
    }
  }

  private int begin(float[] chunk, int ofDevice) {
    return (int) ((long) chunk.length * ofDevice / devices);
  }

  /** All-reduce, first part: adds this device's slice over all devices. */
  void reduce(List<DenseGradients> all) {
    for (int c = 0; c < slices.size(); c++) {
      float[] sum = slices.get(c);
      int first = begin(chunks.get(c), device);
      System.arraycopy(all.get(0).chunks.get(c), first, sum, 0, sum.length);
      for (DenseGradients peer : all.subList(1, all.size())) {
        float[] source = peer.chunks.get(c);
        for (int i = 0; i < sum.length; i++) {
          sum[i] += source[first + i];
        }
      }
    }
  }

  /** All-reduce, second part: copies the slices of all devices. */
  void gather(List<DenseGradients> all) {
    for (int c = 0; c < slices.size(); c++) {
      for (DenseGradients peer : all) {
        float[] slice = peer.slices.get(c);
        System.arraycopy(slice, 0, chunks.get(c), begin(chunks.get(c), peer.device), slice.length);
      }
    }
  }
}
