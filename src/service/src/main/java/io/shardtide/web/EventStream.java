package io.shardtide.web;

import com.fasterxml.jackson.core.JsonProcessingException;
import io.shardtide.views.ViewUpdate;
import java.nio.ByteBuffer;
import java.util.function.Consumer;
import org.eclipse.jetty.server.Response;
import org.eclipse.jetty.util.Callback;

/**
 * Sends updates to one browser as server-sent events without blocking. A browser that reads slowly
 * gets fewer of them ({@link PendingUpdates}); one that reads nothing is disconnected by the
 * server's idle timeout.
 */
final class EventStream implements Consumer<ViewUpdate> {
  private final UpdateTexts texts;
  private final Response response;
  private final Callback callback;
  private final Runnable onClose;
  private final PendingUpdates pending = new PendingUpdates();
  private boolean writing;
  private boolean closed;

  /**
   * @param texts texts of the updates
   * @param callback completed when the stream closes
   * @param onClose runs then
   */
  EventStream(UpdateTexts texts, Response response, Callback callback, Runnable onClose) {
    this.texts = texts;
    this.response = response;
    this.callback = callback;
    this.onClose = onClose;
  }

  @Override
  public void accept(ViewUpdate update) {
    byte[] text;
    try {
      text = texts.of(update);
    } catch (JsonProcessingException e) {
      close(e);
      return;
    }
    synchronized (this) {
      if (closed) {
        return;
      }
      pending.add(update, text);
    }
    pump();
  }

  private void pump() {
    byte[] batch;
    synchronized (this) {
      if (writing || closed || pending.isEmpty()) {
        return;
      }
      writing = true;
      batch = pending.drain();
    }
    response.write(
        false,
        ByteBuffer.wrap(batch),
        Callback.from(
            () -> {
              synchronized (this) {
                writing = false;
              }
              pump();
            },
            this::close));
  }

  /** Returns whether the stream is closed. */
  synchronized boolean isClosed() {
    return closed;
  }

  /** Closes the stream. */
  void close(Throwable cause) {
    synchronized (this) {
      if (closed) {
        return;
      }
      closed = true;
      pending.clear();
    }
    onClose.run();
    callback.failed(cause);
  }
}
