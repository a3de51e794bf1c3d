#!/usr/bin/env bash
# A cached store of Kafka Streams keeps the whole source record of each entry, and its bound does not count it.
#
# One would guess: statestore.cache.max.bytes bounds the memory of the cached stores. An entry of a few bytes takes a few bytes.
# What happens: since 4.1 the context of a record has the bytes of the record that was read from the source topic, for the
#   dead letter queue, and a cache keeps the context of each entry. A processor that reads records of 20 kB and stores 8 bytes
#   of each holds 20 kB for each entry: 2,000 entries take 40 MB of heap, four times the bound of 10 MiB, and all stay, since
#   only their 8 bytes and their keys are counted. With 4.0.1 the same program holds less than 1 MB.
# Versions: kafka-streams and kafka-streams-test-utils 4.2.1 (4.1.1 and 4.2.0 do the same), beside it 4.0.1; Java 17.
# Date: 2026-11-29.
# Why it matters: stores of counters and headers beside large records are the usual shape of a topology that folds wide
#   records (features, embeddings, plans). The default of 10 MiB a process lets in tens of thousands of such entries, so that
#   the heap grows by gigabytes after an upgrade, and cache metrics show nothing of it.
# Source: behaviour as run here; org.apache.kafka.streams.processor.internals.ProcessorRecordContext (sourceRawValue) and
#   ThreadCache; KIP-1034 (dead letter queue).
#
# usage: findings/streams_cache_holds_sources.sh ; needs Java 17 and Maven, installs into a temporary folder (100 MB), ends
# with 0 if all is as said above.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
cat >Held.java <<'JAVA'
import java.nio.file.Path;
import java.util.Properties;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.streams.TestInputTopic;
import org.apache.kafka.streams.Topology;
import org.apache.kafka.streams.TopologyTestDriver;
import org.apache.kafka.streams.processor.api.Processor;
import org.apache.kafka.streams.processor.api.ProcessorContext;
import org.apache.kafka.streams.processor.api.Record;
import org.apache.kafka.streams.state.KeyValueStore;
import org.apache.kafka.streams.state.Stores;

/** Stores the length of each record, and prints the megabytes that the heap holds afterwards. */
class Held {
  static final int RECORDS = 2_000;
  static final int BYTES = 20_000;

  static class Lengths implements Processor<String, byte[], Void, Void> {
    private KeyValueStore<String, Long> lengths;

    @Override
    public void init(ProcessorContext<Void, Void> context) {
      lengths = context.getStateStore("lengths");
    }

    @Override
    public void process(Record<String, byte[]> record) {
      lengths.put(record.key(), (long) record.value().length);
    }
  }

  static long heap() throws InterruptedException {
    for (int i = 0; i < 3; i++) {
      System.gc();
      Thread.sleep(50);
    }
    return Runtime.getRuntime().totalMemory() - Runtime.getRuntime().freeMemory();
  }

  static double held(boolean isCached) throws InterruptedException {
    var store = Stores.keyValueStoreBuilder(Stores.inMemoryKeyValueStore("lengths"), Serdes.String(), Serdes.Long());
    Topology topology = new Topology();
    topology
        .addSource("read", Serdes.String().deserializer(), Serdes.ByteArray().deserializer(), "records")
        .addProcessor("store", Lengths::new, "read")
        .addStateStore((isCached ? store.withCachingEnabled() : store).withLoggingDisabled(), "store");
    Properties settings = new Properties();
    settings.put("application.id", "held");
    settings.put("bootstrap.servers", "none:1");
    settings.put("state.dir", Path.of("state").toAbsolutePath().toString());
    try (TopologyTestDriver driver = new TopologyTestDriver(topology, settings)) {
      TestInputTopic<String, byte[]> records =
          driver.createInputTopic("records", Serdes.String().serializer(), Serdes.ByteArray().serializer());
      long before = heap();
      for (int i = 0; i < RECORDS; i++) {
        records.pipeInput("key" + i, new byte[BYTES]);
      }
      return (heap() - before) / 1e6;
    }
  }

  public static void main(String[] args) throws InterruptedException {
    held(false);
    System.out.printf(java.util.Locale.ROOT, "%.1f %.1f%n", held(false), held(true));
  }
}
JAVA
for version in 4.0.1 4.2.1; do
  cat >pom.xml <<POM
<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>finding</groupId>
  <artifactId>streams</artifactId>
  <version>1</version>
  <dependencies>
    <dependency>
      <groupId>org.apache.kafka</groupId>
      <artifactId>kafka-streams-test-utils</artifactId>
      <version>$version</version>
    </dependency>
  </dependencies>
</project>
POM
  mvn --quiet --batch-mode -Dstyle.color=never dependency:copy-dependencies -DoutputDirectory="jars-$version"
  read -r without with < <(java -Xmx256m -XX:+UseSerialGC -cp "jars-$version/*" Held.java 2>"log-$version")
  echo "kafka-streams $version: 2,000 records of 20 kB hold $without MB without a cache, $with MB with one of 10 MiB"
  seen+=("$version" "$without" "$with")
done
# Records are 40 MB.
awk -v old="${seen[2]}" -v new="${seen[5]}" -v plain="${seen[4]}" 'BEGIN { exit !(plain < 1 && old < 1 && new > 35) }'
