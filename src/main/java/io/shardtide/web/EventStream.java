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
 * Sends news to one browser as server-sent events, never waiting for it: who is too slow is let go,
 * and begins anew with the present.
 */
final class EventStream implements Consumer<ViewUpdate> {
  /** News that may wait: a minute of ten plans a second, with a row and an entry each. */
  private static final int WAITING = 1200;

  private final ObjectMapper json;
  private final Response response;
  private final Callback callback;
  private final Runnable ended;
  private final Deque<String> waiting = new ArrayDeque<>();
  private boolean writing;
  private boolean over;

  /**
   * @param callback completed when it is over
   * @param ended runs then
   */
  EventStream(ObjectMapper json, Response response, Callback callback, Runnable ended) {
    this.json = json;
    this.response = response;
    this.callback = callback;
    this.ended = ended;
  }

  @Override
  public void accept(ViewUpdate news) {
    try {
      if (news instanceof ViewUpdate.WorkloadChanged row) {
        send("row", row.row());
      } else if (news instanceof ViewUpdate.EventLogged happened) {
        send("entry", happened.event());
      } else if (news instanceof ViewUpdate.StatisticsChanged beat) {
        send("pulse", beat.statistics());
      }
    } catch (JsonProcessingException e) {
      end(e);
    }
  }

  /** Sends an event. */
  void send(String event, Object data) throws JsonProcessingException {
    String text = "event: %s\ndata: %s\n\n".formatted(event, json.writeValueAsString(data));
    synchronized (this) {
      if (over) {
        return;
      }
      if (waiting.size() < WAITING) {
        waiting.addLast(text);
        text = null;
      }
    }
    if (text != null) {
      end(new IllegalStateException("The browser is too slow"));
    } else {
      pump();
    }
  }

  private void pump() {
    StringBuilder batch = new StringBuilder();
    synchronized (this) {
      if (writing || over || waiting.isEmpty()) {
        return;
      }
      writing = true;
      waiting.forEach(batch::append);
      waiting.clear();
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
            this::end));
  }

  /** Returns whether it was ended. */
  synchronized boolean isOver() {
    return over;
  }

  /** Ends it. */
  void end(Throwable cause) {
    synchronized (this) {
      if (over) {
        return;
      }
      over = true;
      waiting.clear();
    }
    ended.run();
    callback.failed(cause);
  }
}
