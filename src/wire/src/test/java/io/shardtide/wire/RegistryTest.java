package io.shardtide.wire;

import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Settings that are passed to the registry's client. */
class RegistryTest {
  /**
   * With the first one, generated classes were written by position in whatever schema is newest:
   * two fields of one type that changed places changed their values, without an error.
   */
  @ParameterizedTest
  @CsvSource(
      quoteCharacter = '`',
      value = {
        "use.latest.version, true, false, in another schema than their own",
        "use.latest.with.metadata, application.version=2, empty, in another schema than their own",
        "use.schema.id, 7, -1, in another schema than their own",
        "schema.reflection, true, false, in another schema than their own",
        "avro.remove.java.properties, false, true, registered a second time",
        "rule.executors, encrypt, empty, may change or encrypt values",
        "context.name.strategy, a.Strategy, NullContextNameStrategy, under TOPIC-value",
        "key.subject.name.strategy, a.Strategy, TopicNameStrategy, under TOPIC-value",
        "value.subject.name.strategy, a.Strategy, TopicNameStrategy, under TOPIC-value"
      })
  void a_setting_with_which_others_could_not_read_is_refused_by_name(
      String name, String value, String expected, String reason) {
    assertThatThrownBy(() -> Registry.connect("mock://settings", Map.of(name, value)))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageStartingWith("The schema registry's setting " + name + " must be ")
        .hasMessageContaining(expected + ", got \"" + value + "\": ")
        .hasMessageContaining(reason);
  }

  @Test
  void settings_as_they_are_without_them_and_those_of_connections_are_taken() {
    Map<String, Object> settings =
        Map.of(
            "use.latest.version",
            false,
            "use.schema.id",
            " -1",
            "auto.register.schemas",
            false,
            "normalize.schemas",
            true,
            "basic.auth.credentials.source",
            "USER_INFO",
            "basic.auth.user.info",
            "me:secret");
    Registry.connect("mock://settings", settings).close();
  }
}
