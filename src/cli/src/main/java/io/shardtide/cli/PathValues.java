package io.shardtide.cli;

import io.shardtide.samples.RecordText;
import io.shardtide.workload.Names;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.regex.Pattern;

/** Values of a record in one option: {@code PATH=VALUE,PATH=VALUE}, see {@link RecordText#set}. */
final class PathValues {
  /** A comma before a path; those in a value stay. */
  private static final Pattern BETWEEN = Pattern.compile(",(?=[\\w.]+(\\[[^\\]]*\\][\\w.]*)?=)");

  private PathValues() {}

  /**
   * Returns the texts by path; none of no text.
   *
   * @throws IllegalArgumentException if the text has another form, or a path twice
   */
  static Map<String, String> of(String text) {
    Map<String, String> values = new LinkedHashMap<>();
    for (String pair : text == null ? new String[0] : BETWEEN.split(text, -1)) {
      int equals = pair.indexOf('=');
      if (equals < 1
          || values.put(pair.substring(0, equals).strip(), pair.substring(equals + 1).strip())
              != null) {
        throw new IllegalArgumentException(
            "%s has %s; expected key=value, separated by commas, each key once"
                .formatted(Names.quote(text), Names.quote(pair)));
      }
    }
    return values;
  }
}
