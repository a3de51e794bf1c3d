package io.shardtide.web;

import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.util.Map;
import java.util.Optional;
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
 * Serves {@code /health} and {@code /metrics}, to GET and HEAD, under exactly these paths, and a
 * {@link Dashboard} if there is one. Errors are short and say nothing of the server, nor of what
 * they were asked.
 *
 * <p>Where a token is asked for, {@code /metrics} is for those who send it. {@code /health} answers
 * everybody, because load balancers and orchestrators know no token; without it, it says UP or DOWN
 * and keeps to itself which server is away.
 */
public final class WebServer implements AutoCloseable {
  /** Prometheus' text format, which its text is to be announced as. */
  public static final String PROMETHEUS = "text/plain; version=0.0.4; charset=utf-8";

  private static final String JSON = "application/json";
  private static final String PLAIN = "text/plain; charset=utf-8";
  private static final long IDLE_MS = 10_000;

  private final Server server;
  private final String url;

  private WebServer(Server server, String url) {
    this.server = server;
    this.url = url;
  }

  /**
   * Listens, and returns when it does.
   *
   * @param host address to listen on
   * @param port port to listen on, or 0 for any free one
   * @param health asked at each {@code /health}; answers at once
   * @param metrics asked at each {@code /metrics}, in {@link #PROMETHEUS}
   * @param token tells the token that callers must send; empty if nobody is asked. Should take as
   *     long for any text.
   * @throws IOException if it cannot listen there
   */
  public static WebServer start(
      String host,
      int port,
      Supplier<Health> health,
      Supplier<String> metrics,
      Optional<Predicate<String>> token)
      throws IOException {
    return start(host, port, health, metrics, token, Optional.empty());
  }

  /** Starts as above, with a dashboard. */
  public static WebServer start(
      String host,
      int port,
      Supplier<Health> health,
      Supplier<String> metrics,
      Optional<Predicate<String>> token,
      Optional<Dashboard> dashboard)
      throws IOException {
    QueuedThreadPool threads = new QueuedThreadPool(16, 1);
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
    Pages pages = new Pages(health, metrics, token);
    server.setHandler(
        dashboard.isEmpty()
            ? new Handler.Sequence(pages, new Nothing())
            : new Handler.Sequence(pages, new DashboardHandler(dashboard.get(), token, host)));
    server.setErrorHandler(
        (request, response, callback) -> {
          Pages.answer(response, callback, response.getStatus(), PLAIN, "");
          return true;
        });
    try {
      server.start();
    } catch (Exception e) {
      throw new IOException(
          "http.host and http.port are %s and %d, and nothing can listen there: %s"
              .formatted(host, port, last(e)),
          e);
    }
    String name = host.contains(":") ? "[" + host + "]" : host;
    return new WebServer(server, "http://%s:%d".formatted(name, connector.getLocalPort()));
  }

  private static String last(Throwable error) {
    Throwable last = error;
    while (last.getCause() != null) {
      last = last.getCause();
    }
    return last.getMessage();
  }

  /** Returns its address. */
  public String url() {
    return url;
  }

  @Override
  public void close() throws IOException {
    try {
      server.stop();
    } catch (Exception e) {
      throw new IOException("The server of health and metrics does not stop", e);
    }
  }

  /** What is served under which path. */
  private static final class Pages extends Handler.Abstract.NonBlocking {
    private final ObjectMapper json = new ObjectMapper();
    private final Optional<Predicate<String>> token;
    private final Map<String, Page> pages;

    /** Answers a request of somebody who is known, or not. */
    @FunctionalInterface
    private interface Page {
      void answer(Response response, Callback callback, boolean known) throws IOException;
    }

    Pages(Supplier<Health> health, Supplier<String> metrics, Optional<Predicate<String>> token) {
      this.token = token;
      pages =
          Map.of(
              "/health",
              (response, callback, known) -> {
                Health now = health.get();
                Object shown = known ? now : Map.of("status", now.status());
                answer(
                    response,
                    callback,
                    now.status() == Health.Status.UP ? 200 : 503,
                    JSON,
                    json.writerWithDefaultPrettyPrinter().writeValueAsString(shown) + "\n");
              },
              "/metrics",
              (response, callback, known) -> {
                if (known) {
                  answer(response, callback, 200, PROMETHEUS, metrics.get());
                } else {
                  response.getHeaders().put(HttpHeader.WWW_AUTHENTICATE, "Bearer");
                  answer(response, callback, 401, PLAIN, "Legal is Authorization: Bearer TOKEN.\n");
                }
              });
    }

    @Override
    public boolean handle(Request request, Response response, Callback callback)
        throws IOException {
      Page page = pages.get(request.getHttpURI().getPath());
      if (page == null) {
        return false;
      }
      if (!HttpMethod.GET.is(request.getMethod()) && !HttpMethod.HEAD.is(request.getMethod())) {
        response.getHeaders().put(HttpHeader.ALLOW, "GET, HEAD");
        answer(response, callback, 405, PLAIN, "Legal are GET and HEAD.\n");
      } else {
        page.answer(response, callback, Bearer.isKnown(request, token));
      }
      return true;
    }

    static void answer(Response response, Callback callback, int status, String type, String text) {
      response.setStatus(status);
      response.getHeaders().put(HttpHeader.CONTENT_TYPE, type);
      response.getHeaders().put(HttpHeader.CACHE_CONTROL, "no-store");
      response.getHeaders().put(new HttpField("X-Content-Type-Options", "nosniff"));
      // Jetty leaves the body of an answer to HEAD out by itself.
      Content.Sink.write(response, true, text, callback);
    }
  }

  /** Where there is no dashboard. */
  private static final class Nothing extends Handler.Abstract.NonBlocking {
    @Override
    public boolean handle(Request request, Response response, Callback callback) {
      Pages.answer(response, callback, 404, PLAIN, "There are /health and /metrics.\n");
      return true;
    }
  }
}
