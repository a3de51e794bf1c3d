package io.shardtide.embedded;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.net.InetAddress;
import java.net.NetworkInterface;
import java.net.Socket;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class EmbeddedKafkaIT {
  @TempDir private Path folder;

  private static List<String> read(String bootstrap, int count) {
    List<String> values = new ArrayList<>();
    try (KafkaConsumer<String, String> consumer =
        new KafkaConsumer<>(
            Map.of("bootstrap.servers", bootstrap, "isolation.level", "read_committed"),
            new StringDeserializer(),
            new StringDeserializer())) {
      List<TopicPartition> partition = List.of(new TopicPartition("t", 0));
      consumer.assign(partition);
      consumer.seekToBeginning(partition);
      long end = System.nanoTime() + Duration.ofSeconds(30).toNanos();
      while (values.size() < count && System.nanoTime() < end) {
        consumer.poll(Duration.ofMillis(100)).forEach(r -> values.add(r.value()));
      }
    }
    return values;
  }

  @Test
  void records_and_transactions_survive_a_restart() throws Exception {
    try (EmbeddedKafka kafka = EmbeddedKafka.start(folder);
        Admin admin = Admin.create(Map.of("bootstrap.servers", kafka.bootstrapServers()))) {
      admin.createTopics(List.of(new NewTopic("t", 1, (short) 1))).all().get();
      try (KafkaProducer<String, String> producer =
          new KafkaProducer<>(
              Map.of("bootstrap.servers", kafka.bootstrapServers(), "transactional.id", "tx"),
              new StringSerializer(),
              new StringSerializer())) {
        producer.initTransactions();
        producer.beginTransaction();
        producer.send(new ProducerRecord<>("t", "k", "kept")).get();
        producer.commitTransaction();
        producer.beginTransaction();
        producer.send(new ProducerRecord<>("t", "k", "taken back")).get();
        producer.abortTransaction();
      }
      assertThat(read(kafka.bootstrapServers(), 1)).containsExactly("kept");
    }
    try (EmbeddedKafka again = EmbeddedKafka.start(folder)) {
      assertThat(read(again.bootstrapServers(), 1)).containsExactly("kept");
    }
  }

  @Test
  void it_listens_on_loopback_only() throws Exception {
    try (EmbeddedKafka kafka = EmbeddedKafka.start(folder)) {
      int port = Integer.parseInt(kafka.bootstrapServers().substring("127.0.0.1:".length()));
      for (NetworkInterface device : NetworkInterface.networkInterfaces().toList()) {
        for (InetAddress address : device.inetAddresses().toList()) {
          if (!address.isLoopbackAddress()) {
            assertThatThrownBy(() -> new Socket(address, port).close())
                .isInstanceOf(Exception.class);
          }
        }
      }
    }
  }

  @Test
  void a_port_in_use_is_reported() throws Exception {
    try (EmbeddedKafka kafka = EmbeddedKafka.start(folder.resolve("first"))) {
      int port = Integer.parseInt(kafka.bootstrapServers().substring("127.0.0.1:".length()));
      assertThatThrownBy(() -> EmbeddedKafka.start(folder.resolve("second"), port, Map.of()))
          .isInstanceOf(IllegalStateException.class)
          .hasMessageStartingWith("The embedded Kafka broker could not start on port " + port);
    }
  }
}
