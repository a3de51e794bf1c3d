package io.shardtide.topology;

import static org.assertj.core.api.Assertions.assertThat;

import com.sun.net.httpserver.HttpServer;
import io.shardtide.config.ServiceSettings;
import io.shardtide.config.SettingsFile;
import io.shardtide.wire.Registry;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Instant;
import java.util.Base64;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import javax.security.auth.callback.Callback;
import javax.security.auth.login.AppConfigurationEntry;
import org.apache.kafka.clients.admin.AdminClientConfig;
import org.apache.kafka.clients.consumer.ConsumerConfig;
import org.apache.kafka.clients.producer.ProducerConfig;
import org.apache.kafka.common.config.SaslConfigs;
import org.apache.kafka.common.security.JaasContext;
import org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginCallbackHandler;
import org.apache.kafka.common.security.oauthbearer.OAuthBearerTokenCallback;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.ByteArraySerializer;
import org.apache.kafka.streams.StreamsConfig;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** The settings files of {@code docs/DEPLOY.md}, read by what reads a user's. */
class PlatformSettingsTest {
  private static final Path FOLDER = Path.of("docs/platforms");

  /** Classes of MSK's library, which this build does not have. */
  private static final String MSK = "software.amazon.msk.";

  static List<Path> files() throws IOException {
    try (Stream<Path> files = Files.list(FOLDER)) {
      return files.sorted().toList();
    }
  }

  private static Map<String, Object> clients(ServiceSettings settings) {
    Map<String, Object> clients = new HashMap<>(PlannerService.clients(settings));
    clients.values().removeIf(value -> value.toString().startsWith(MSK + "auth.iam.IAMClient"));
    return clients;
  }

  @ParameterizedTest
  @MethodSource("files")
  void every_client_takes_them(Path file) throws Exception {
    ServiceSettings settings = SettingsFile.read(file, warning -> {}, (key, value) -> {});
    assertThat(settings.topics().replication()).isEqualTo(3);
    assertThat(ClientSettings.unknown(settings.endpoint().kafka().keySet())).isEmpty();
    Map<String, Object> clients = clients(settings);
    AdminClientConfig admin = new AdminClientConfig(clients);
    assertThat(new ConsumerConfig(with(clients, "deserializer", ByteArrayDeserializer.class)))
        .isNotNull();
    assertThat(new ProducerConfig(with(clients, "serializer", ByteArraySerializer.class)))
        .isNotNull();
    assertThat(new StreamsConfig(StreamsProperties.of(TopologyName.WORKLOAD, settings)))
        .isNotNull();
    if (admin.getString(AdminClientConfig.SECURITY_PROTOCOL_CONFIG).startsWith("SASL_")) {
      // Throws if the line is not one login module with its options.
      assertThat(JaasContext.loadClientContext(admin.values()).configurationEntries()).hasSize(1);
    }
    Registry.connect(settings.endpoint().registryUrl(), settings.endpoint().registry()).close();
  }

  private static Map<String, Object> with(Map<String, Object> clients, String what, Class<?> type) {
    Map<String, Object> all = new HashMap<>(clients);
    all.put("key." + what, type);
    all.put("value." + what, type);
    return all;
  }

  @Test
  void the_page_has_each_file() throws IOException {
    String page = Files.readString(Path.of("docs/DEPLOY.md"));
    assertThat(files()).hasSize(4);
    assertThat(files())
        .allSatisfy(file -> assertThat(page).contains("platforms/" + file.getFileName()));
  }

  /** Kafka's own login fetches a token with the file's client credentials. */
  @Test
  void oauth_fetches_a_token_with_client_credentials() throws Exception {
    String body = claims(Instant.now());
    String[] request = new String[2];
    HttpServer server =
        HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
    server.createContext(
        "/oauth2/token",
        exchange -> {
          request[0] = exchange.getRequestHeaders().getFirst("Authorization");
          request[1] = new String(exchange.getRequestBody().readAllBytes(), StandardCharsets.UTF_8);
          byte[] answer = body.getBytes(StandardCharsets.UTF_8);
          exchange.getResponseHeaders().add("Content-Type", "application/json");
          exchange.sendResponseHeaders(200, answer.length);
          exchange.getResponseBody().write(answer);
          exchange.close();
        });
    server.start();
    String url = "http://127.0.0.1:%d/oauth2/token".formatted(server.getAddress().getPort());
    String allowed = "org.apache.kafka.sasl.oauthbearer.allowed.urls";
    System.setProperty(allowed, url);
    OAuthBearerLoginCallbackHandler login = new OAuthBearerLoginCallbackHandler();
    try {
      ServiceSettings settings =
          SettingsFile.read(FOLDER.resolve("oauth.properties"), warning -> {}, (key, value) -> {});
      Map<String, Object> clients = clients(settings);
      clients.put(SaslConfigs.SASL_OAUTHBEARER_TOKEN_ENDPOINT_URL, url);
      AdminClientConfig admin = new AdminClientConfig(clients);
      List<AppConfigurationEntry> entries =
          JaasContext.loadClientContext(admin.values()).configurationEntries();
      login.configure(admin.values(), "OAUTHBEARER", entries);
      OAuthBearerTokenCallback callback = new OAuthBearerTokenCallback();
      login.handle(new Callback[] {callback});
      assertThat(callback.token().principalName()).isEqualTo("planner");
    } finally {
      login.close();
      System.clearProperty(allowed);
      server.stop(0);
    }
    assertThat(
            new String(
                Base64.getDecoder().decode(request[0].substring("Basic ".length())),
                StandardCharsets.UTF_8))
        .isEqualTo("shardtide-planner:SECRET");
    assertThat(request[1]).contains("grant_type=client_credentials", "scope=kafka");
  }

  private static String claims(Instant now) {
    Base64.Encoder base64 = Base64.getUrlEncoder().withoutPadding();
    String token =
        base64.encodeToString("{\"alg\":\"RS256\"}".getBytes(StandardCharsets.UTF_8))
            + "."
            + base64.encodeToString(
                "{\"sub\":\"planner\",\"scope\":\"kafka\",\"iat\":%d,\"exp\":%d}"
                    .formatted(now.getEpochSecond(), now.getEpochSecond() + 3600)
                    .getBytes(StandardCharsets.UTF_8))
            + ".c2lnbmF0dXJl";
    return "{\"access_token\":\"%s\",\"token_type\":\"Bearer\",\"expires_in\":3600}"
        .formatted(token);
  }
}
