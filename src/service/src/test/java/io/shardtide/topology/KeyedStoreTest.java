package io.shardtide.topology;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.SortedMap;
import java.util.TreeMap;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.constraints.IntRange;
import net.jqwik.api.constraints.Size;
import org.apache.kafka.common.serialization.Deserializer;
import org.apache.kafka.common.serialization.Serde;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.streams.processor.api.MockProcessorContext;
import org.apache.kafka.streams.state.KeyValueStore;
import org.apache.kafka.streams.state.Stores;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

class KeyedStoreTest {
  private int decoded;
  private int writes;
  private KeyedStore<String> store;

  @BeforeEach
  void open() {
    KeyValueStore<String, byte[]> plain =
        Stores.keyValueStoreBuilder(
                Stores.inMemoryKeyValueStore("s"), Serdes.String(), Serdes.ByteArray())
            .withLoggingDisabled()
            .build();
    plain.init(new MockProcessorContext<Void, Void>().getStateStoreContext(), plain);
    Deserializer<String> strings = Serdes.String().deserializer();
    Serde<String> counting =
        Serdes.serdeFrom(
            Serdes.String().serializer(),
            (topic, bytes) -> {
              decoded++;
              return strings.deserialize(topic, bytes);
            });
    store = new KeyedStore<>(plain, counting, () -> writes++);
  }

  @Test
  void a_value_is_decoded_once_until_it_is_written() {
    store.put("w", "a", "1");
    store.put("w", "b", "2");
    for (int i = 0; i < 3; i++) {
      assertThat(store.get("w", "a")).contains("1");
      assertThat(store.range("w")).containsExactly(Map.entry("a", "1"), Map.entry("b", "2"));
    }
    assertThat(decoded).isEqualTo(2);

    store.put("w", "a", "3");
    assertThat(store.range("w")).containsEntry("a", "3");
    assertThat(decoded).as("as after a restart").isEqualTo(3);
    assertThat(store.delete("w", "a")).contains("3");
    assertThat(store.get("w", "a")).isEmpty();
    assertThat(store.range("w")).containsOnlyKeys("b");
    assertThat(decoded).isEqualTo(3);
    assertThat(writes).isEqualTo(4);
  }

  @Test
  void values_that_are_kept_have_a_bound_in_bytes() {
    String third = "x".repeat(DecodedValues.BYTES / 3 + 1);
    for (String name : List.of("a", "b", "c")) {
      store.put("w", name, third);
    }
    store.get("w", "a");
    store.get("w", "b");
    store.get("w", "a");
    store.get("w", "c");
    assertThat(decoded).isEqualTo(3);
    store.get("w", "a");
    assertThat(decoded).as("read again before the third came").isEqualTo(3);
    store.get("w", "b");
    assertThat(decoded).as("the one not read for longest went").isEqualTo(4);

    store.put("w", "large", "x".repeat(DecodedValues.BYTES + 1));
    assertThat(store.get("w", "large")).hasValueSatisfying(v -> assertThat(v).startsWith("x"));
    store.get("w", "large");
    assertThat(decoded).as("larger than all that is kept").isEqualTo(6);
  }

  enum Act {
    PUT,
    GET,
    DELETE,
    RANGE
  }

  /** Whatever is kept, it has what a map has. */
  @Property(tries = 40)
  void it_is_a_map(
      @ForAll @Size(60) List<Act> acts,
      @ForAll @Size(60) List<@IntRange(max = 7) Integer> names,
      @ForAll @Size(60) List<@IntRange(min = 1, max = 4) Integer> sizes) {
    open();
    Map<String, SortedMap<String, String>> expected = new HashMap<>();
    for (int i = 0; i < acts.size(); i++) {
      String workload = "w" + names.get(i) % 2;
      String name = "n" + names.get(i) / 2;
      SortedMap<String, String> of = expected.computeIfAbsent(workload, w -> new TreeMap<>());
      switch (acts.get(i)) {
        case PUT -> {
          String value = i + "x".repeat(sizes.get(i) * DecodedValues.BYTES / 6);
          store.put(workload, name, value);
          of.put(name, value);
        }
        case GET ->
            assertThat(store.get(workload, name)).isEqualTo(Optional.ofNullable(of.get(name)));
        case DELETE ->
            assertThat(store.delete(workload, name))
                .isEqualTo(Optional.ofNullable(of.remove(name)));
        case RANGE -> assertThat(store.range(workload)).isEqualTo(of);
      }
    }
  }
}
