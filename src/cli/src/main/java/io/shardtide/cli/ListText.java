package io.shardtide.cli;

import io.shardtide.workload.Names;
import io.shardtide.workload.RejectedException;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * Records as text in the options of a command: {@code NAME:NUMBER}, and after further colons what
 * differs from the defaults; several are joined by +.
 *
 * @param of what messages call a record
 * @param form the form of the text, for messages
 * @param defaults a record with the defaults
 * @param number the component that the number is
 * @param shown what messages call the number
 * @param keys keys of further values, and the components that they stand for
 * @param words words that are values themselves, and the components that have them
 */
record ListText<R extends Record>(
    String of,
    String form,
    R defaults,
    String number,
    String shown,
    Map<String, String> keys,
    Map<String, String> words) {

  /**
   * Returns the records of a text.
   *
   * @throws IllegalArgumentException if it has another form
   */
  List<R> parse(String text) {
    return Arrays.stream(text.split("\\+", -1)).map(this::one).toList();
  }

  private R one(String text) {
    String[] parts = text.split(":", -1);
    if (parts.length < 2) {
      throw wrong(text, shown + " must be given, got none");
    }
    Map<String, String> values = new LinkedHashMap<>();
    values.put("name", parts[0].strip());
    values.put(number, parts[1].strip());
    for (int i = 2; i < parts.length; i++) {
      String[] pair = parts[i].split("=", 2);
      if (words.containsKey(parts[i])) {
        values.put(words.get(parts[i]), parts[i]);
      } else if (pair.length == 2 && keys.containsKey(pair[0])) {
        values.put(keys.get(pair[0]), pair[1].strip());
      } else {
        throw wrong(text, "%s is unknown".formatted(Names.quote(parts[i])));
      }
    }
    try {
      return RecordText.in(defaults, values);
    } catch (RejectedException e) {
      throw e;
    } catch (IllegalArgumentException e) {
      throw wrong(text, e.getMessage());
    }
  }

  private IllegalArgumentException wrong(String text, String problem) {
    return new IllegalArgumentException(
        "%s \"%s\": %s; expected %s".formatted(of, text, problem, form));
  }
}
