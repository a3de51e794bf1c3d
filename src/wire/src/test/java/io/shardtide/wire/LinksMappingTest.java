package io.shardtide.wire;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.shardtide.avro.PoolLinks;
import io.shardtide.avro.RackLink;
import io.shardtide.pool.NodeLinks;
import io.shardtide.pool.Pool;
import io.shardtide.pool.PoolChange;
import io.shardtide.pool.PoolUpdate.PoolSet;
import io.shardtide.pool.RackLinks;
import io.shardtide.pool.RackPair;
import io.shardtide.workload.RejectedException;
import io.shardtide.workload.RejectionReason;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;
import org.apache.avro.io.DecoderFactory;
import org.apache.avro.specific.SpecificDatumReader;
import org.junit.jupiter.api.Test;

/** Links of pools as records say them, and as the documentation does. */
class LinksMappingTest {
  private static final List<List<Double>> MATRIX = List.of(List.of(0.0, 9.0), List.of(9.0, 0.0));

  private static void rejects(String message, PoolLinks links) {
    assertThatThrownBy(() -> Codec.POOL_LINKS.fromAvro().apply(links))
        .isInstanceOfSatisfying(
            RejectedException.class,
            e -> assertThat(e.reason()).isEqualTo(RejectionReason.INVALID_POOL))
        .hasMessage(message);
  }

  @Test
  void racks_and_a_matrix_exclude_each_other() {
    rejects(
        "links of a pool must be those of racks or a matrix, got both: a matrix of 2 nodes,"
            + " and 0 racks or pairs of racks with 20.0 GB/s within racks and 0.0 between",
        new PoolLinks(20.0, 0.0, List.of(), List.of("a", "b"), MATRIX));
    rejects(
        "nodes of a matrix must be between 2 and 512, got 0",
        new PoolLinks(0.0, 0.0, List.of(), List.of(), MATRIX));
    rejects(
        "bandwidth from \"a node\" to \"one in its rack\" must be above 0 to 1000000 GB/s, got 0.0",
        new PoolLinks(0.0, 0.0, List.of(), List.of(), List.of()));
  }

  @Test
  void a_pair_of_racks_may_be_repeated_but_not_contradicted() {
    RackLink there = new RackLink("r", "s", 4.0);
    assertThat(
            Codec.POOL_LINKS
                .fromAvro()
                .apply(
                    new PoolLinks(
                        20.0,
                        5.0,
                        List.of(there, new RackLink("s", "r", 4.0)),
                        List.of(),
                        List.of())))
        .isEqualTo(new RackLinks(20, 5, new TreeMap<>(Map.of(RackPair.of("r", "s"), 4.0))));
    rejects(
        "racks \"r\" and \"s\" must have one bandwidth, got 4.0 and 3.0 GB/s",
        new PoolLinks(
            20.0, 5.0, List.of(there, new RackLink("s", "r", 3.0)), List.of(), List.of()));
  }

  @Test
  void the_documented_event_and_links_are_valid() throws IOException {
    String page = Files.readString(Path.of("docs/POOLS.md"));
    String event =
        Pattern.compile("\\{\"eventId\".*?\\n\\n", Pattern.DOTALL)
            .matcher(page)
            .results()
            .map(MatchResult::group)
            .findFirst()
            .orElseThrow()
            .replace("5f0f...", "00000000-0000-0000-0000-000000000001");
    assertThat(pool(event).links()).isEmpty();
    List<String> links =
        Pattern.compile("\"links\": \\{.*?\\n\\n", Pattern.DOTALL)
            .matcher(page)
            .results()
            .map(MatchResult::group)
            .toList();
    assertThat(links).hasSize(2);
    String nodes =
        "[{\"name\": \"n1\", \"rack\": \"r1\"}, {\"name\": \"n2\", \"rack\": \"r1\"},"
            + " {\"name\": \"n3\", \"rack\": \"r3\"}]";
    String more = event.replace("[{\"name\": \"n1\", \"rack\": \"r1\"}]", nodes);
    assertThat(pool(more.replace("\"links\": null", links.get(0))).links())
        .contains(new RackLinks(20, 5, new TreeMap<>(Map.of(RackPair.of("r1", "r3"), 10.0))));
    Optional<io.shardtide.pool.PoolLinks> matrix =
        pool(more.replace("\"links\": null", links.get(1))).links();
    assertThat(matrix).get().isInstanceOf(NodeLinks.class);
  }

  private static Pool pool(String json) throws IOException {
    var schema = io.shardtide.avro.PoolChange.getClassSchema();
    io.shardtide.avro.PoolChange avro =
        new SpecificDatumReader<io.shardtide.avro.PoolChange>(schema)
            .read(null, DecoderFactory.get().jsonDecoder(schema, json));
    PoolChange change = Codec.POOL_CHANGE.fromAvro().apply(avro);
    return ((PoolSet) change.updates().get(0)).pool();
  }
}
