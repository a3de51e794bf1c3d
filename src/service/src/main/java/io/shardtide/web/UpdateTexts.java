package io.shardtide.web;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.shardtide.views.ViewUpdate;
import java.nio.charset.StandardCharsets;

/**
 * Updates as server-sent events. All browsers get an update one after the other: it is encoded once
 * for all.
 */
final class UpdateTexts {
  private final ObjectMapper json;
  private ViewUpdate last;
  private byte[] lastText;

  UpdateTexts(ObjectMapper json) {
    this.json = json;
  }

  /** Returns the text of an update, which callers must not change. */
  synchronized byte[] of(ViewUpdate update) throws JsonProcessingException {
    if (update != last) {
      lastText = encode(update);
      last = update;
    }
    return lastText;
  }

  private byte[] encode(ViewUpdate update) throws JsonProcessingException {
    if (update instanceof ViewUpdate.WorkloadChanged changed) {
      return encode("workload", changed.row());
    } else if (update instanceof ViewUpdate.WorkloadRemoved removed) {
      return encode("deleted", removed);
    } else if (update instanceof ViewUpdate.PoolChanged changed) {
      return encode("pool", changed.row());
    } else if (update instanceof ViewUpdate.EventLogged logged) {
      return encode("event", logged.event());
    } else {
      return encode("statistics", ((ViewUpdate.StatisticsChanged) update).statistics());
    }
  }

  private byte[] encode(String event, Object data) throws JsonProcessingException {
    return "event: %s\ndata: %s\n\n"
        .formatted(event, json.writeValueAsString(data))
        .getBytes(StandardCharsets.UTF_8);
  }
}
