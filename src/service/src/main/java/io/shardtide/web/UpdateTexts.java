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
    if (!update.equals(last)) {
      lastText =
          "event: %s\ndata: %s\n\n"
              .formatted(update.event(), json.writeValueAsString(update.data()))
              .getBytes(StandardCharsets.UTF_8);
      last = update;
    }
    return lastText;
  }
}
