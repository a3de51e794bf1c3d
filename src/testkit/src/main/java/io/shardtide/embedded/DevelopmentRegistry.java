package io.shardtide.embedded;

import java.io.IOException;
import java.nio.file.Path;
import java.util.Optional;
import org.eclipse.jetty.http.UriCompliance;
import org.eclipse.jetty.server.HttpConfiguration;
import org.eclipse.jetty.server.HttpConnectionFactory;
import org.eclipse.jetty.server.Server;
import org.eclipse.jetty.server.ServerConnector;
import org.eclipse.jetty.util.thread.QueuedThreadPool;

/**
 * A schema registry for one machine, on loopback: Confluent's REST protocol over Confluent's own
 * in-memory implementation, so that any Avro client of Kafka can read the topics of the embedded
 * broker. Not for production: it has no authentication and one copy of its data.
 */
public final class DevelopmentRegistry implements AutoCloseable {
  private final Server server;
  private final String url;

  private DevelopmentRegistry(Server server, String url) {
    this.server = server;
    this.url = url;
  }

  /**
   * Starts a registry, and returns when it accepts requests.
   *
   * @param port port, or 0 for any free one
   * @param directory folder of its schemas; empty to keep them in memory only
   * @throws IOException if it cannot read its schemas or cannot listen
   */
  public static DevelopmentRegistry start(int port, Optional<Path> directory) throws IOException {
    RegistryStore store = new RegistryStore(directory.map(d -> d.resolve("schemas.jsonl")));
    QueuedThreadPool threads = new QueuedThreadPool(8, 1);
    threads.setName("registry");
    threads.setDaemon(true);
    Server server = new Server(threads);
    HttpConfiguration http = new HttpConfiguration();
    // A subject may hold a slash, which clients send as %2F.
    http.setUriCompliance(
        UriCompliance.DEFAULT.with("subjects", UriCompliance.Violation.AMBIGUOUS_PATH_SEPARATOR));
    ServerConnector connector = new ServerConnector(server, 1, 1, new HttpConnectionFactory(http));
    connector.setHost("127.0.0.1");
    connector.setPort(port);
    server.addConnector(connector);
    server.setHandler(new RegistryHandler(store));
    try {
      server.start();
    } catch (Exception e) {
      throw new IOException(
          "The development registry could not listen on port %d: %s"
              .formatted(port, e.getMessage()),
          e);
    }
    return new DevelopmentRegistry(server, "http://127.0.0.1:" + connector.getLocalPort());
  }

  /** Returns its address. */
  public String url() {
    return url;
  }

  /** Returns the port that it listens on. */
  public int port() {
    return ((ServerConnector) server.getConnectors()[0]).getLocalPort();
  }

  @Override
  public void close() throws IOException {
    try {
      server.stop();
    } catch (Exception e) {
      throw new IOException("The development registry could not be stopped", e);
    }
  }
}
