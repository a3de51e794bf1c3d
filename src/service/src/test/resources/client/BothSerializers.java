import io.confluent.kafka.serializers.KafkaAvroDeserializer;
import io.confluent.kafka.serializers.KafkaAvroSerializer;
import io.shardtide.client.Endpoint;
import io.shardtide.client.Outcome;
import io.shardtide.client.WorkloadPublisher;
import io.shardtide.workload.ClusterSpec;
import io.shardtide.workload.ReuseHistogram;
import io.shardtide.workload.TableSpec;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.apache.avro.Schema;
import org.apache.avro.generic.GenericData;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;

/** A program with topics of its own, in Confluent's serializers, and Shardtide's client beside them. */
public class BothSerializers {
  public static void main(String[] args) throws Exception {
    Schema schema =
        new Schema.Parser()
            .parse(
                "{\"type\":\"record\",\"name\":\"Order\",\"fields\":[{\"name\":\"id\",\"type\":\"long\"}]}");
    GenericData.Record order = new GenericData.Record(schema);
    order.put("id", 7L);
    try (Admin admin = Admin.create(Map.of("bootstrap.servers", args[0]))) {
      admin.createTopics(List.of(new NewTopic("orders", 1, (short) 1))).all().get();
    }
    try (KafkaProducer<String, Object> producer =
        new KafkaProducer<>(
            Map.of(
                "bootstrap.servers", args[0],
                "schema.registry.url", args[1],
                "key.serializer", "org.apache.kafka.common.serialization.StringSerializer",
                "value.serializer", KafkaAvroSerializer.class.getName()))) {
      producer.send(new ProducerRecord<>("orders", "a", order)).get(60, TimeUnit.SECONDS);
    }

    Endpoint endpoint = Endpoint.of(args[0], args[1]);
    try (WorkloadPublisher publisher = WorkloadPublisher.connect(endpoint, "both")) {
      Outcome outcome =
          publisher
              .change("both")
              .upsert(new TableSpec("user_id", 1_000_000, 64, 1.0, ReuseHistogram.UNKNOWN, 4))
              .cluster(new ClusterSpec(2, 8L << 30, 65_536, 2, "simulated"))
              .sendAndAwait()
              .get(60, TimeUnit.SECONDS);
      System.out.println("published: " + outcome);
    }

    try (KafkaConsumer<String, Object> consumer =
        new KafkaConsumer<>(
            Map.of(
                "bootstrap.servers", args[0],
                "schema.registry.url", args[1],
                "group.id", "orders",
                "auto.offset.reset", "earliest",
                "key.deserializer", "org.apache.kafka.common.serialization.StringDeserializer",
                "value.deserializer", KafkaAvroDeserializer.class.getName()))) {
      consumer.subscribe(List.of("orders"));
      boolean read = false;
      while (!read) {
        for (ConsumerRecord<String, Object> record : consumer.poll(Duration.ofSeconds(1))) {
          System.out.println("order read: " + record.value());
          read = true;
        }
      }
    }
    System.out.println(
        "the client's: "
            + Class.forName("io.shardtide.client.shaded.confluent.kafka.serializers.KafkaAvroSerializer")
                .getName());
  }
}
