package io.shardtide.testing;

import io.shardtide.embedded.EmbeddedKafka;
import io.shardtide.topology.AclGrant;
import java.io.IOException;
import java.io.StringReader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.concurrent.ExecutionException;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import kafka.admin.ConfigCommand;
import org.apache.kafka.clients.CommonClientConfigs;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.common.utils.Exit;
import org.apache.kafka.tools.AclCommand;
import org.apache.kafka.tools.TopicCommand;
import org.apache.kafka.tools.consumer.group.ConsumerGroupCommand;

/**
 * A real broker with TLS, SASL/SCRAM and an authorizer, set up with the commands and the settings
 * that {@code docs/DEPLOY.md} shows.
 */
public final class SecureKafka implements AutoCloseable {
  private static final String PLACEHOLDER = "...";
  private static final String ADMIN = "admin";

  private final Path folder;
  private final Map<String, String> broker;
  private final Admin admin;
  private EmbeddedKafka kafka;

  private SecureKafka(Path folder, Map<String, String> broker) throws IOException {
    this.folder = folder;
    this.broker = broker;
    kafka = startBroker(0);
    admin = Admin.create(clients(ADMIN));
  }

  private EmbeddedKafka startBroker(int port) throws IOException {
    return EmbeddedKafka.start(
        folder.resolve("kafka"),
        port,
        broker,
        Map.of("broker", password("broker"), ADMIN, password(ADMIN)));
  }

  /** Starts it with its data, keys and certificates in a folder. */
  public static SecureKafka start(Path folder) throws IOException, InterruptedException {
    return start(folder, Map.of());
  }

  /** Starts it with settings of the broker that replace those of the page. */
  public static SecureKafka start(Path folder, Map<String, String> settings)
      throws IOException, InterruptedException {
    Certificates.make(folder);
    Map<String, String> broker =
        settings(Docs.block(Certificates.PAGE, "#### Brokers"), folder, "broker");
    // What this broker is to itself is not what the page is about.
    broker.put("listener.security.protocol.map", "CLIENTS:SASL_SSL,CONTROLLER:PLAINTEXT");
    broker.merge("super.users", "User:ANONYMOUS", (a, b) -> a + ";" + b);
    broker.putAll(settings);
    return new SecureKafka(folder, broker);
  }

  /** Stops the broker and starts it at the same address, which ends all connections. */
  public void restart() throws IOException {
    String address = kafka.bootstrapServers();
    kafka.close();
    kafka = startBroker(Integer.parseInt(address.substring(address.lastIndexOf(':') + 1)));
  }

  private static String password(String of) {
    return Certificates.SECRET + "-" + of;
  }

  /** Returns settings of the page with what it leaves out put in. */
  private static Map<String, String> settings(String block, Path folder, String user)
      throws IOException {
    Properties properties = new Properties();
    properties.load(new StringReader(block));
    Map<String, String> settings = new HashMap<>();
    for (String key : properties.stringPropertyNames()) {
      String of = key.contains("jaas") ? user : "store";
      settings.put(
          key,
          properties
              .getProperty(key)
              .replaceAll("/etc/(kafka|shardtide)/", folder + "/")
              .replace("username=\"planner\"", "username=\"%s\"".formatted(user))
              .replace(PLACEHOLDER, password(of)));
    }
    return settings;
  }

  /** Returns the lines that a planner's settings file has for this, as the page shows them. */
  public String plannerSettings() throws IOException {
    StringBuilder lines = new StringBuilder();
    settings(Docs.block(Certificates.PAGE, "#### Planners"), folder, "planner")
        .forEach((key, value) -> lines.append(key).append('=').append(value).append('\n'));
    return lines.toString();
  }

  /** Returns the settings of a user's clients, addresses included. */
  public Map<String, Object> clients(String user) throws IOException {
    Map<String, Object> clients = new HashMap<>();
    settings(Docs.block(Certificates.PAGE, "#### Planners"), folder, user)
        .forEach((key, value) -> clients.put(key.replaceFirst("^kafka\\.", ""), value));
    clients.put(CommonClientConfigs.BOOTSTRAP_SERVERS_CONFIG, kafka.bootstrapServers());
    return clients;
  }

  /** Returns a client that may do everything. */
  public Admin admin() {
    return admin;
  }

  /** Returns the settings of a client that may do everything. */
  public Map<String, Object> adminClients() throws IOException {
    return clients(ADMIN);
  }

  /** Returns where it serves. */
  public String bootstrapServers() {
    return kafka.bootstrapServers();
  }

  /** Makes users, with the page's command. */
  public void users(String... names) throws IOException {
    for (String name : names) {
      run(
          Docs.block(Certificates.PAGE, "#### Users")
              .strip()
              .replace("kafka-1:9093", kafka.bootstrapServers())
              .replace("admin.properties", adminFile().toString())
              .replace("entity-name planner", "entity-name " + name)
              .replace(PLACEHOLDER, password(name)));
    }
  }

  /** Returns a file that Kafka's own tools connect with. */
  public Path adminFile() throws IOException {
    StringBuilder lines = new StringBuilder();
    clients(ADMIN).forEach((key, value) -> lines.append(key + "=" + value + "\n"));
    return Files.writeString(folder.resolve("admin.properties"), lines);
  }

  /** Runs a command of Kafka's own tools in this process, as its script would. */
  public static void run(String command) {
    Matcher words = Pattern.compile("'([^']*)'|(\\S+)").matcher(command);
    List<String> arguments =
        words.results().map(r -> r.group(1) == null ? r.group(2) : r.group(1)).toList();
    String[] rest = arguments.subList(1, arguments.size()).toArray(new String[0]);
    Exit.setExitProcedure(
        (status, message) -> {
          if (status != 0) {
            throw new AssertionError("%s ended with %d: %s".formatted(command, status, message));
          }
        });
    try {
      switch (arguments.get(0)) {
        case "kafka-configs.sh" -> ConfigCommand.main(rest);
        case "kafka-acls.sh" -> AclCommand.main(rest);
        case "kafka-topics.sh" -> TopicCommand.main(rest);
        case "kafka-consumer-groups.sh" -> ConsumerGroupCommand.main(rest);
        default -> throw new AssertionError("Nobody knows " + command);
      }
    } finally {
      Exit.resetExitProcedure();
    }
  }

  /** Gives a user rights. */
  public void allow(String user, List<AclGrant> rights)
      throws InterruptedException, ExecutionException {
    admin
        .createAcls(rights.stream().map(right -> right.binding("User:" + user)).toList())
        .all()
        .get();
  }

  /** Takes a right away. */
  public void forbid(String user, AclGrant right) throws InterruptedException, ExecutionException {
    int deleted =
        admin.deleteAcls(List.of(right.binding("User:" + user).toFilter())).all().get().size();
    if (deleted != 1) {
      throw new AssertionError("%s had %d entries for %s".formatted(user, deleted, right));
    }
  }

  @Override
  public void close() {
    admin.close();
    kafka.close();
  }
}
