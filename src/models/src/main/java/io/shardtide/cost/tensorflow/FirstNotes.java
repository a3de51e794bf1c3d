package io.shardtide.cost.tensorflow;

import org.bytedeco.javacpp.BytePointer;
import org.bytedeco.javacpp.Loader;
import org.bytedeco.javacpp.Pointer;
import org.bytedeco.javacpp.PointerPointer;
import org.jspecify.annotations.Nullable;
import org.tensorflow.Graph;
import org.tensorflow.Result;
import org.tensorflow.Session;
import org.tensorflow.internal.c_api.Deallocator_Pointer_long_Pointer;
import org.tensorflow.op.Ops;
import org.tensorflow.proto.ConfigProto;

/**
 * Discards the two lines that TensorFlow writes to standard error when a process runs its first
 * graph: that Abseil's log is not initialised and that a pass of MLIR is off.
 *
 * <p>TF_CPP_MIN_LOG_LEVEL does not affect this log, and TensorFlow exports no function that
 * configures it. Therefore a trivial graph runs first, while C's stream stderr is buffered; then
 * the buffer is discarded. Java writes to standard error without that stream. All this needs
 * functions of the GNU C library; without them the lines appear.
 */
final class FirstNotes {
  private static final int BUFFER_BYTES = 1 << 16;

  private static boolean discarded;

  private FirstNotes() {}

  /**
   * Runs the first graph of this process, if none has run yet.
   *
   * @param config of the session: all later ones share the threads of the first
   */
  static synchronized void discard(ConfigProto config) {
    if (discarded) {
      return;
    }
    discarded = true;
    try (Graph graph = new Graph()) {
      // The library is loaded now; JavaCPP finds the functions of all that it needs.
      Pointer stream = Loader.addressof("stderr");
      Pointer setBuffer = Loader.addressof("setbuffer");
      Pointer purge = Loader.addressof("__fpurge");
      if (stream == null || setBuffer == null || purge == null) {
        return;
      }
      try (PointerPointer<Pointer> variable = new PointerPointer<>(stream);
          BytePointer buffer = new BytePointer(BUFFER_BYTES)) {
        Pointer stderr = variable.get();
        call(setBuffer, stderr, buffer.address(), new Word(BUFFER_BYTES));
        try {
          run(graph, config);
        } finally {
          call(purge, stderr, 0, null);
          // Unbuffered, as it was.
          call(setBuffer, stderr, 0, null);
        }
      }
    }
  }

  private static void run(Graph graph, ConfigProto config) {
    Ops tf = Ops.create(graph);
    try (Session session = new Session(graph, config);
        Result result = session.runner().fetch(tf.constant(0f)).run()) {
      result.size();
    }
  }

  /**
   * Calls a C function of up to three arguments, each a pointer or an integer of its size.
   * TensorFlow's type of a deallocator is one of these, and JavaCPP can call it.
   */
  private static void call(Pointer function, Pointer first, long second, @Nullable Pointer third) {
    try (PointerPointer<Pointer> holder = new PointerPointer<>(1)) {
      holder.put(function);
      new Deallocator_Pointer_long_Pointer(holder).call(first, second, third);
    }
  }

  /** An integer that is passed as a pointer. */
  private static final class Word extends Pointer {
    Word(long value) {
      address = value;
    }
  }
}
