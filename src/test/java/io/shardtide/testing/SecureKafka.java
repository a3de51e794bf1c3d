package io.shardtide.testing;

import io.shardtide.embedded.EmbeddedKafka;
import io.shardtide.topology.Right;
import java.io.IOException;
import java.io.StringReader;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.concurrent.ExecutionException;
import org.apache.kafka.clients.CommonClientConfigs;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.ScramCredentialInfo;
import org.apache.kafka.clients.admin.ScramMechanism;
import org.apache.kafka.clients.admin.UserScramCredentialUpsertion;

/**
 * A real broker with TLS, SASL/SCRAM and an authorizer, set up with the commands and the settings
 * that {@code .github/SECURITY.md} shows.
 */
public final class SecureKafka implements AutoCloseable {
  /** Every password begins with this, so that a search of what a program printed finds any. */
  public static final String SECRET = "hunter2";

  private static final String PLACEHOLDER = "...";
  private static final String ADMIN = "admin";

  private final Path folder;
  private final EmbeddedKafka kafka;
  private final Admin admin;

  private SecureKafka(Path folder, EmbeddedKafka kafka) throws IOException {
    this.folder = folder;
    this.kafka = kafka;
    admin = Admin.create(clients(ADMIN));
  }

  /** Starts it with its data, keys and certificates in a folder. */
  public static SecureKafka start(Path folder) throws IOException, InterruptedException {
    Certificates.make(folder);
    Map<String, String> broker =
        settings(Docs.block(Certificates.PAGE, "### Brokers"), folder, "broker");
    // What this broker is to itself is not what the page is about.
    broker.put("listener.security.protocol.map", "CLIENTS:SASL_SSL,CONTROLLER:PLAINTEXT");
    broker.merge("super.users", "User:ANONYMOUS", (a, b) -> a + ";" + b);
    return new SecureKafka(
        folder,
        EmbeddedKafka.start(
            folder.resolve("kafka"),
            0,
            broker,
            Map.of("broker", password("broker"), ADMIN, password(ADMIN))));
  }

  private static String password(String of) {
    return SECRET + "-" + of;
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
    settings(Docs.block(Certificates.PAGE, "### Planners"), folder, "planner")
        .forEach((key, value) -> lines.append(key).append('=').append(value).append('\n'));
    return lines.toString();
  }

  /** Returns the settings of a user's clients, addresses included. */
  public Map<String, Object> clients(String user) throws IOException {
    Map<String, Object> clients = new HashMap<>();
    settings(Docs.block(Certificates.PAGE, "### Planners"), folder, user)
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

  /** Makes users. */
  public void users(String... names) throws InterruptedException, ExecutionException {
    for (String name : names) {
      admin
          .alterUserScramCredentials(
              List.of(
                  new UserScramCredentialUpsertion(
                      name,
                      new ScramCredentialInfo(ScramMechanism.SCRAM_SHA_512, 4096),
                      password(name))))
          .all()
          .get();
    }
  }

  /** Gives a user rights. */
  public void allow(String user, List<Right> rights)
      throws InterruptedException, ExecutionException {
    admin
        .createAcls(rights.stream().map(right -> right.binding("User:" + user)).toList())
        .all()
        .get();
  }

  /** Takes a right away. */
  public void forbid(String user, Right right) throws InterruptedException, ExecutionException {
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
