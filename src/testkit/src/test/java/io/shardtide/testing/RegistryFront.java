package io.shardtide.testing;

import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.Base64;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Predicate;
import org.eclipse.jetty.http.HttpHeader;
import org.eclipse.jetty.http.UriCompliance;
import org.eclipse.jetty.io.Content;
import org.eclipse.jetty.server.Handler;
import org.eclipse.jetty.server.HttpConfiguration;
import org.eclipse.jetty.server.HttpConnectionFactory;
import org.eclipse.jetty.server.Request;
import org.eclipse.jetty.server.Response;
import org.eclipse.jetty.server.SecureRequestCustomizer;
import org.eclipse.jetty.server.Server;
import org.eclipse.jetty.server.ServerConnector;
import org.eclipse.jetty.server.SslConnectionFactory;
import org.eclipse.jetty.util.Callback;
import org.eclipse.jetty.util.ssl.SslContextFactory;

/**
 * A real HTTP server before a registry, as a company has one: it may ask for a user, speak TLS, and
 * do badly.
 */
public final class RegistryFront implements AutoCloseable {
  private static final String JSON = "application/vnd.schemaregistry.v1+json";

  private final Server server = new Server();
  private final ServerConnector connector;
  private final String scheme;
  private final HttpClient client = HttpClient.newHttpClient();
  private final AtomicReference<String> behind = new AtomicReference<>();
  private final AtomicReference<Fault> fault = new AtomicReference<>(Fault.NONE);
  private final AtomicInteger met = new AtomicInteger();

  /** Faults of single requests, for good. */
  private final Map<String, Fault> odd = new ConcurrentHashMap<>();

  /** How often each request came. */
  private final Map<String, Integer> asked = new ConcurrentHashMap<>();

  /**
   * What it does wrong.
   *
   * @param which requests, by their method and path, {@code GET /schemas/ids/1} say
   * @param status what it answers, {@link #FORWARD} as the registry does, or {@link #DRIP}
   * @param body what it answers
   * @param until keeps the answer back, if it is there
   */
  private record Fault(
      Predicate<String> which, int status, String body, Optional<CountDownLatch> until) {
    private static final int FORWARD = 0;

    /** Sends blanks, ten a second. */
    private static final int DRIP = -1;

    private static final Fault NONE = new Fault(request -> false, FORWARD, "", Optional.empty());
  }

  /**
   * Starts.
   *
   * @param registry address of the registry behind it
   * @param user what callers must send as {@code user:password}; empty if nobody is asked
   * @param keyStore its key and certificate in a PKCS12 store, for TLS; empty for plain HTTP
   * @param password of the store
   */
  public RegistryFront(
      String registry, Optional<String> user, Optional<Path> keyStore, String password)
      throws Exception {
    behind.set(registry);
    scheme = keyStore.isPresent() ? "https" : "http";
    HttpConfiguration http = new HttpConfiguration();
    http.setUriCompliance(
        UriCompliance.DEFAULT.with("subjects", UriCompliance.Violation.AMBIGUOUS_PATH_SEPARATOR));
    if (keyStore.isPresent()) {
      http.addCustomizer(new SecureRequestCustomizer(false));
      SslContextFactory.Server tls = new SslContextFactory.Server();
      tls.setKeyStorePath(keyStore.get().toString());
      tls.setKeyStorePassword(password);
      connector =
          new ServerConnector(
              server, new SslConnectionFactory(tls, "http/1.1"), new HttpConnectionFactory(http));
    } else {
      connector = new ServerConnector(server, new HttpConnectionFactory(http));
    }
    connector.setHost("127.0.0.1");
    server.addConnector(connector);
    server.setHandler(new Door(user));
    server.start();
  }

  /** Returns its address. */
  public String url() {
    return "%s://127.0.0.1:%d".formatted(scheme, connector.getLocalPort());
  }

  /** Has another registry behind it from now on. */
  public void leadTo(String registry) {
    behind.set(registry);
  }

  /** Answers some requests with an error, as it has this body, until it is {@link #well}. */
  public void fail(Predicate<String> which, int status, String body) {
    met.set(0);
    fault.set(new Fault(which, status, body, Optional.empty()));
  }

  /** Answers some requests with an error of the registry's, until it is {@link #well}. */
  public void fail(Predicate<String> which, int status, int code) {
    fail(which, status, "{\"error_code\":%d,\"message\":\"as told\"}".formatted(code));
  }

  /** Lets some requests wait for their answer until the latch opens. */
  public void hold(Predicate<String> which, CountDownLatch until) {
    met.set(0);
    fault.set(new Fault(which, Fault.FORWARD, "", Optional.of(until)));
  }

  /** Answers some requests with a blank each tenth of a second, until it is {@link #well}. */
  public void drip(Predicate<String> which) {
    met.set(0);
    fault.set(new Fault(which, Fault.DRIP, "", Optional.empty()));
  }

  /** Gives each odd answer for the schema of its id, for good, while all else is as it is. */
  public void answerOddly() {
    for (RegistryAnswer answer : RegistryAnswer.values()) {
      answer(answer.id(), answer);
    }
  }

  /** Gives this answer for the schema of an id, for good, while all else is as it is. */
  public void answer(int id, RegistryAnswer answer) {
    Fault given =
        new Fault(
            request -> true,
            answer.isSlow() ? Fault.DRIP : answer.status(),
            answer.body(),
            Optional.empty());
    odd.put(schemaRequest(id), given);
  }

  /** Answers for the schema of an id as the registry does, from now on. */
  public void answerWell(int id) {
    odd.remove(schemaRequest(id));
  }

  /** Returns how often the schema of an id was asked for. */
  public int asked(int id) {
    return asked.getOrDefault(schemaRequest(id), 0);
  }

  private static String schemaRequest(int id) {
    return "GET /schemas/ids/" + id;
  }

  /** Does all well from now on. */
  public void well() {
    fault.set(Fault.NONE);
  }

  /** Returns how many requests met the fault that was set last. */
  public int met() {
    return met.get();
  }

  private final class Door extends Handler.Abstract {
    private final Optional<String> credentials;

    Door(Optional<String> user) {
      credentials =
          user.map(
              u ->
                  "Basic "
                      + Base64.getEncoder().encodeToString(u.getBytes(StandardCharsets.UTF_8)));
    }

    @Override
    public boolean handle(Request request, Response response, Callback callback) throws Exception {
      byte[] body;
      try (InputStream in = Content.Source.asInputStream(request)) {
        body = in.readAllBytes();
      }
      if (credentials.isPresent()
          && !credentials.get().equals(request.getHeaders().get(HttpHeader.AUTHORIZATION))) {
        answer(response, callback, 401, "{\"error_code\":401,\"message\":\"Unauthorized\"}");
        return true;
      }
      String name = request.getMethod() + " " + request.getHttpURI().getPath();
      asked.merge(name, 1, Integer::sum);
      Fault now = odd.getOrDefault(name, fault.get());
      if (now.which().test(name)) {
        met.incrementAndGet();
        if (now.until().isPresent()) {
          now.until().get().await(2, TimeUnit.MINUTES);
        } else if (now.status() == Fault.DRIP) {
          drip(response, callback);
          return true;
        } else {
          answer(response, callback, now.status(), now.body());
          return true;
        }
      }
      forward(request, body, response, callback);
      return true;
    }

    /** Until the caller has enough, or for a minute. */
    private void drip(Response response, Callback callback) throws InterruptedException {
      response.getHeaders().put(HttpHeader.CONTENT_TYPE, JSON);
      try (OutputStream out = Content.Sink.asOutputStream(response)) {
        for (int i = 0; i < 600; i++) {
          out.write(' ');
          out.flush();
          Thread.sleep(100);
        }
        callback.succeeded();
      } catch (IOException e) {
        callback.failed(e);
      }
    }

    private void forward(Request request, byte[] body, Response response, Callback callback)
        throws InterruptedException {
      try {
        HttpResponse<String> answer =
            client.send(
                HttpRequest.newBuilder(
                        URI.create(behind.get() + request.getHttpURI().getPathQuery()))
                    .header("Content-Type", JSON)
                    .method(request.getMethod(), HttpRequest.BodyPublishers.ofByteArray(body))
                    .build(),
                HttpResponse.BodyHandlers.ofString());
        answer(response, callback, answer.statusCode(), answer.body());
      } catch (IOException e) {
        answer(response, callback, 502, "<html>Bad Gateway</html>");
      }
    }

    private void answer(Response response, Callback callback, int status, String body) {
      response.setStatus(status);
      response.getHeaders().put(HttpHeader.CONTENT_TYPE, body.startsWith("<") ? "text/html" : JSON);
      response.write(true, ByteBuffer.wrap(body.getBytes(StandardCharsets.UTF_8)), callback);
    }
  }

  @Override
  public void close() {
    try {
      server.stop();
    } catch (Exception e) {
      throw new UncheckedIOException(new IOException("The front does not stop", e));
    }
  }
}
