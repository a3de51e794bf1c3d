package io.shardtide.web;

import com.fasterxml.jackson.databind.ObjectMapper;
import io.shardtide.wire.Causes;
import java.io.IOException;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.function.BooleanSupplier;
import java.util.function.Predicate;
import java.util.function.Supplier;
import org.eclipse.jetty.http.HttpField;
import org.eclipse.jetty.http.HttpHeader;
import org.eclipse.jetty.http.HttpMethod;
import org.eclipse.jetty.io.Content;
import org.eclipse.jetty.server.Handler;
import org.eclipse.jetty.server.HttpConfiguration;
import org.eclipse.jetty.server.HttpConnectionFactory;
import org.eclipse.jetty.server.Request;
import org.eclipse.jetty.server.Response;
import org.eclipse.jetty.server.Server;
import org.eclipse.jetty.server.ServerConnector;
import org.eclipse.jetty.util.Callback;
import org.eclipse.jetty.util.thread.QueuedThreadPool;

/**
 * Serves {@code /health}, {@code /live} and {@code /metrics} to GET and HEAD requests, under
 * exactly these paths, and optionally a {@link Dashboard}. Error responses reveal neither the
 * server's version nor details of the request.
 *
 * <p>If a token is required, {@code /metrics} requires it too. {@code /health} and {@code /live} do
 * not, because load balancers and orchestrators have no token; without it the response is the
 * status alone, with no names of components or servers.
 *
 * <p>{@code /health} says whether the service works, {@code /live} whether its process does: while
 * a server is away the service is DOWN and the process live, because a restart would not help.
 */
public final class WebServer implements AutoCloseable {
  /** Content type of Prometheus' text format. */
  public static final String PROMETHEUS = "text/plain; version=0.0.4; charset=utf-8";

  private static final String JSON = "application/json";
  private static final String PLAIN = "text/plain; charset=utf-8";
  private static final Set<String> PATHS = Set.of("/health", "/live", "/metrics");
  private static final long IDLE_MS = 10_000;

  /** Of a server without a dashboard, which answers all other paths. */
  private static final String UNKNOWN_PATH =
      "There is nothing at this path; see /health, /live and /metrics.\n";

  private final Server server;
  private final String url;

  private WebServer(Server server, String url) {
    this.server = server;
    this.url = url;
  }

  /**
   * Starts a server; returns when it accepts connections.
   *
   * @param host address to listen on
   * @param port port to listen on, or 0 for any free one
   * @param health called for each request of {@code /health}; must not block
   * @param live called for each request of {@code /live}; must not block
   * @param metrics called for each request of {@code /metrics}; returns {@link #PROMETHEUS}
   * @param token accepts the token that callers must send, in constant time; empty if none is
   *     required
   * @param dashboard the dashboard, if it is served
   * @throws IOException if the server cannot listen on the address and port
   */
  public static WebServer start(
      String host,
      int port,
      Supplier<Health> health,
      BooleanSupplier live,
      Supplier<String> metrics,
      Optional<Predicate<String>> token,
      Optional<Dashboard> dashboard)
      throws IOException {
    // The dashboard has threads of its own.
    QueuedThreadPool threads = new QueuedThreadPool(8, 1);
    threads.setName("web");
    threads.setDaemon(true);
    Server server = new Server(threads);
    HttpConfiguration http = new HttpConfiguration();
    http.setSendServerVersion(false);
    ServerConnector connector = new ServerConnector(server, 1, 1, new HttpConnectionFactory(http));
    connector.setHost(host);
    connector.setPort(port);
    connector.setIdleTimeout(IDLE_MS);
    server.addConnector(connector);
    Handler monitoring = monitoring(health, live, metrics, token);
    server.setHandler(monitoring);
    dashboard.ifPresent(
        shown ->
            server.setHandler(
                new Handler.Sequence(monitoring, new DashboardHandler(shown, token, host))));
    server.setErrorHandler(
        (request, response, callback) -> {
          int status = response.getStatus();
          send(response, callback, status, PLAIN, status == 404 ? UNKNOWN_PATH : "");
          return true;
        });
    try {
      server.start();
    } catch (Exception e) {
      throw new IOException(
          "Cannot listen on http.host %s, http.port %d: %s"
              .formatted(host, port, Causes.root(e).getMessage()),
          e);
    }
    String name = host.contains(":") ? "[" + host + "]" : host;
    return new WebServer(server, "http://%s:%d".formatted(name, connector.getLocalPort()));
  }

  /** Returns the server's URL, without a slash at the end. */
  public String url() {
    return url;
  }

  @Override
  public void close() throws IOException {
    try {
      server.stop();
    } catch (Exception e) {
      throw new IOException("The web server did not stop", e);
    }
  }

  /** Serves health and metrics; metrics may take a while, so that no selector waits for them. */
  private static Handler monitoring(
      Supplier<Health> health,
      BooleanSupplier live,
      Supplier<String> metrics,
      Optional<Predicate<String>> token) {
    ObjectMapper json = new ObjectMapper();
    return new Handler.Abstract() {
      @Override
      public boolean handle(Request request, Response response, Callback callback)
          throws IOException {
        String path = request.getHttpURI().getPath();
        if (!PATHS.contains(path)) {
          return false;
        }
        boolean authorized = Bearer.isAuthorized(request, token);
        if (!HttpMethod.GET.is(request.getMethod()) && !HttpMethod.HEAD.is(request.getMethod())) {
          response.getHeaders().put(HttpHeader.ALLOW, "GET, HEAD");
          send(response, callback, 405, PLAIN, "The method must be GET or HEAD.\n");
        } else if (path.equals("/health")) {
          Health now = health.get();
          Object shown = authorized ? now : Map.of("status", now.status());
          String text = json.writerWithDefaultPrettyPrinter().writeValueAsString(shown);
          send(response, callback, status(now.status()), JSON, text + "\n");
        } else if (path.equals("/live")) {
          Health.Status now = live.getAsBoolean() ? Health.Status.UP : Health.Status.DOWN;
          String text = json.writeValueAsString(Map.of("status", now));
          send(response, callback, status(now), JSON, text + "\n");
        } else if (authorized) {
          send(response, callback, 200, PROMETHEUS, metrics.get());
        } else {
          String text = "The request needs the header Authorization: Bearer TOKEN.\n";
          response.getHeaders().put(HttpHeader.WWW_AUTHENTICATE, "Bearer");
          send(response, callback, 401, PLAIN, text);
        }
        return true;
      }
    };
  }

  private static int status(Health.Status of) {
    return of == Health.Status.UP ? 200 : 503;
  }

  private static void send(
      Response response, Callback callback, int status, String type, String text) {
    response.setStatus(status);
    response.getHeaders().put(HttpHeader.CONTENT_TYPE, type);
    response.getHeaders().put(HttpHeader.CACHE_CONTROL, "no-store");
    response.getHeaders().put(new HttpField("X-Content-Type-Options", "nosniff"));
    // Jetty omits the body of a response to HEAD.
    Content.Sink.write(response, true, text, callback);
  }
}
