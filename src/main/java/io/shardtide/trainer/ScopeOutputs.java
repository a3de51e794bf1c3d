package io.shardtide.trainer;

import io.shardtide.trainer.ScopeLayout.OutputColumns;
import java.util.Arrays;
import java.util.List;
import java.util.function.IntPredicate;

/**
 * The outputs of a device's shards of one scope, later their gradients, and the device's part of
 * the collectives that carry them. Each phase reads what other devices wrote in the phase before,
 * and can be repeated without another result. Sums are added in the order of device numbers.
 */
final class ScopeOutputs {
  private final ScopeLayout layout;
  private final ColumnIndex index;
  private final int device;
  private final int group;

  /** Columns of this device's group. */
  private final int columns;

  /** Pooled outputs of the whole batch, of this device's rows; later their gradients. */
  private final float[] partial;

  /** Outputs of all rows, for the samples that this device is the reducer of; later gradients. */
  private final float[] reduced;

  /** Send buffer in a group, and of outputs to other groups. */
  private final float[] sendBuffer;

  /** Send buffer of gradients to other groups: own samples, columns of all groups. */
  private final float[] gradientBuffer;

  /** Offset in {@link #gradientBuffer} of the gradients of each group's columns. */
  private final int[] gradientOffsets;

  private final int stride;

  /**
   * @param layout the layout of the scope
   * @param index positions of the columns
   * @param device the device's number
   */
  ScopeOutputs(ScopeLayout layout, ColumnIndex index, int device) {
    this.layout = layout;
    this.index = index;
    this.device = device;
    group = layout.group(device);
    columns = layout.columns(group);
    stride = index.columns();
    int batch = index.cluster().batchSize();
    partial = new float[batch * columns];
    reduced = layout.reduces() ? new float[batch * columns] : partial;
    sendBuffer = new float[layout.reduces() || layout.sends() ? batch * columns : 0];
    gradientOffsets = new int[layout.groups().size()];
    int length = 0;
    for (int g = 0; g < gradientOffsets.length; g++) {
      gradientOffsets[g] = length;
      if (layout.reducer(g, device) != device) {
        length += samples(device) * layout.columns(g);
      }
    }
    gradientBuffer = new float[length];
  }

  private int samples(int ofDevice) {
    return index.firstSample(ofDevice + 1) - index.firstSample(ofDevice);
  }

  /** Returns the outputs of this device's rows, a row of {@link #columns} for each sample. */
  float[] partial() {
    return partial;
  }

  /** Returns the number of columns of a row of {@link #partial}. */
  int columns() {
    return columns;
  }

  /** Sets all outputs to 0: a device without rows of a column part adds nothing to its sums. */
  void clear() {
    if (layout.reduces()) {
      Arrays.fill(partial, 0f);
    }
  }

  private boolean reduces(int sampleDevice) {
    return layout.reducer(group, sampleDevice) == device;
  }

  /** Reduce-scatter, sender's part: copies partial sums for other reducers to a buffer. */
  void sendPartial() {
    copy(partial, sendBuffer, peer -> !reduces(peer));
  }

  /** Reduce-scatter, receiver's part: adds the partial sums of all devices of the group. */
  void reduce(List<ScopeOutputs> devices) {
    for (int peer = 0; peer < layout.devices(); peer++) {
      if (reduces(peer)) {
        int first = index.firstSample(peer) * columns;
        int end = index.firstSample(peer + 1) * columns;
        for (int member = layout.first(group); member < layout.first(group + 1); member++) {
          float[] source = member == device ? partial : devices.get(member).sendBuffer;
          if (member == layout.first(group)) {
            copy(source, reduced, peer);
          } else {
            for (int i = first; i < end; i++) {
              reduced[i] += source[i];
            }
          }
        }
      }
    }
  }

  /** Forward all-to-all, sender's part: copies outputs for the other devices to a buffer. */
  void sendOutputs() {
    copy(reduced, sendBuffer, peer -> peer != device && reduces(peer));
  }

  /** Forward all-to-all, receiver's part: copies all columns of this device's samples. */
  void receiveOutputs(List<ScopeOutputs> devices, float[] features) {
    for (int g = 0; g < layout.groups().size(); g++) {
      ScopeOutputs reducer = devices.get(layout.reducer(g, device));
      float[] source = reducer == this ? reduced : reducer.sendBuffer;
      int from = index.firstSample(device) * reducer.columns;
      for (int s = 0; s < samples(device); s++) {
        for (OutputColumns part : layout.groups().get(g)) {
          System.arraycopy(
              source, from + part.offset(), features, s * stride + part.position(), part.columns());
        }
        from += reducer.columns;
      }
    }
  }

  /** Backward all-to-all, sender's part: copies gradients for the other devices to a buffer. */
  void sendGradients(float[] features) {
    for (int g = 0; g < layout.groups().size(); g++) {
      if (layout.reducer(g, device) != device) {
        scatter(g, features, gradientBuffer, gradientOffsets[g]);
      }
    }
  }

  private void scatter(int ofGroup, float[] features, float[] target, int first) {
    int to = first;
    int width = layout.columns(ofGroup);
    for (int s = 0; s < samples(device); s++) {
      for (OutputColumns part : layout.groups().get(ofGroup)) {
        System.arraycopy(
            features, s * stride + part.position(), target, to + part.offset(), part.columns());
      }
      to += width;
    }
  }

  /** Backward all-to-all, receiver's part: copies gradients of the group's columns. */
  void receiveGradients(List<ScopeOutputs> devices, float[] features) {
    for (ScopeOutputs peer : devices) {
      if (reduces(peer.device)) {
        int first = index.firstSample(peer.device) * columns;
        if (peer == this) {
          scatter(group, features, reduced, first);
        } else {
          System.arraycopy(
              peer.gradientBuffer,
              peer.gradientOffsets[group],
              reduced,
              first,
              samples(peer.device) * columns);
        }
      }
    }
  }

  /** All-gather, sender's part: copies gradients for the other devices of the group. */
  void sendReduced() {
    copy(reduced, sendBuffer, this::reduces);
  }

  /** All-gather, receiver's part: copies the gradients of the whole batch. */
  void gather(List<ScopeOutputs> devices) {
    for (int peer = 0; peer < layout.devices(); peer++) {
      ScopeOutputs reducer = devices.get(layout.reducer(group, peer));
      copy(reducer == this ? reduced : reducer.sendBuffer, partial, peer);
    }
  }

  private void copy(float[] source, float[] target, IntPredicate ofDevice) {
    for (int peer = 0; peer < layout.devices(); peer++) {
      if (ofDevice.test(peer)) {
        copy(source, target, peer);
      }
    }
  }

  /** Copies the rows of a device's samples. */
  private void copy(float[] source, float[] target, int ofDevice) {
    int first = index.firstSample(ofDevice) * columns;
    System.arraycopy(source, first, target, first, samples(ofDevice) * columns);
  }
}
