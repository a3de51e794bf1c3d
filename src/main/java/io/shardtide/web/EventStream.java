package io.shardtide.web;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.shardtide.views.ViewUpdate;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.function.Consumer;
import org.eclipse.jetty.server.Response;
import org.eclipse.jetty.util.Callback;

/**
 * Sends updates to one browser as server-sent events without blocking. A browser that reads too
 * slowly is disconnected; it connects again and loads the current state.
 */
final class EventStream implements Consumer<ViewUpdate> {
  /** Buffered events: a minute of ten plans a second, with a row and an event each. */
  private static final int CAPACITY = 1200;

  private final ObjectMapper json;
  private final Response response;
  private final Callback callback;
  private final Runnable onClose;
  private final Deque<String> buffer = new ArrayDeque<>();
  private boolean writing;
  private boolean closed;

  /**
   * @param callback completed when the stream closes
   * @param onClose runs then
   */
  EventStream(ObjectMapper json, Response response, Callback callback, Runnable onClose) {
    this.json = json;
    this.response = response;
    this.callback = callback;
    this.onClose = onClose;
  }

  @Override
  public void accept(ViewUpdate update) {
    try {
      if (update instanceof ViewUpdate.WorkloadChanged changed) {
        send("workload", changed.row());
      } else if (update instanceof ViewUpdate.WorkloadRemoved removed) {
        send("deleted", removed);
      } else if (update instanceof ViewUpdate.EventLogged logged) {
        send("event", logged.event());
      } else if (update instanceof ViewUpdate.StatisticsChanged latest) {
        send("statistics", latest.statistics());
      }
    } catch (JsonProcessingException e) {
      close(e);
    }
  }

  /** Sends an event. */
  void send(String event, Object data) throws JsonProcessingException {
    String text = "event: %s\ndata: %s\n\n".formatted(event, json.writeValueAsString(data));
    synchronized (this) {
      if (closed) {
        return;
      }
      if (buffer.size() < CAPACITY) {
        buffer.addLast(text);
        text = null;
      }
    }
    if (text != null) {
      close(
          new IllegalStateException(
              "The browser reads too slowly: %d events are buffered".formatted(CAPACITY)));
    } else {
      pump();
    }
  }

  private void pump() {
    StringBuilder batch = new StringBuilder();
    synchronized (this) {
      if (writing || closed || buffer.isEmpty()) {
        return;
      }
      writing = true;
      buffer.forEach(batch::append);
      buffer.clear();
    }
    response.write(
        false,
        ByteBuffer.wrap(batch.toString().getBytes(StandardCharsets.UTF_8)),
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
      buffer.clear();
    }
    onClose.run();
    callback.failed(cause);
  }
}
