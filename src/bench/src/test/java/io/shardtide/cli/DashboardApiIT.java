package io.shardtide.cli;

import static io.shardtide.wire.TopicType.ALLOCATIONS;
import static io.shardtide.wire.TopicType.CURRENT_FORECASTS;
import static io.shardtide.wire.TopicType.POOL_CHANGES;
import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import com.networknt.schema.JsonSchemaFactory;
import com.networknt.schema.SpecVersion;
import io.shardtide.client.Endpoint;
import io.shardtide.client.TrainerReports;
import io.shardtide.embedded.DevelopmentRegistry;
import io.shardtide.embedded.EmbeddedKafka;
import io.shardtide.growth.Fill;
import io.shardtide.growth.FillHistory;
import io.shardtide.growth.MemoryEnd;
import io.shardtide.growth.Range;
import io.shardtide.growth.TableForecast;
import io.shardtide.growth.TableForecasts;
import io.shardtide.growth.TableGrowth;
import io.shardtide.growth.TableInputs;
import io.shardtide.plan.MeasuredDevice;
import io.shardtide.plan.SearchSettings;
import io.shardtide.plan.ShardingPlan;
import io.shardtide.pool.Allocation;
import io.shardtide.pool.PoolChange;
import io.shardtide.pool.PoolNode;
import io.shardtide.pool.PoolUpdate;
import io.shardtide.state.PlanningSettings;
import io.shardtide.testing.Fixtures;
import io.shardtide.testing.LogClient;
import io.shardtide.testing.PoolSamples;
import io.shardtide.testing.TestModels;
import io.shardtide.testing.TestSettings;
import io.shardtide.web.Health;
import io.shardtide.web.WebServer;
import io.shardtide.wire.Extension;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.net.URI;
import java.net.URLEncoder;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.stream.Stream;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * The dashboard's JSON from a real planner on a real broker agrees with its document and with the
 * log.
 */
class DashboardApiIT {
  private static final ObjectMapper JSON = new ObjectMapper();
  private static final HttpClient HTTP = HttpClient.newHttpClient();
  private static final Duration PATIENCE = Duration.ofSeconds(60);

  /** A workload with a claim on a pool. */
  private static final String POOLED = "pooled";

  private static final long T_MS = Fixtures.TIME.toEpochMilli();

  @TempDir private static Path folder;

  private static EmbeddedKafka kafka;
  private static DevelopmentRegistry registry;
  private static DemoPlanner planner;
  private static LogClient log;
  private static List<ShardingPlan> plans;
  private static JsonNode document;

  @BeforeAll
  static void start() throws Exception {
    kafka = EmbeddedKafka.start(folder.resolve("kafka"));
    registry = DevelopmentRegistry.start(0, Optional.of(folder));
    planner =
        DemoPlanner.start(
            kafka,
            registry,
            Map.of(),
            folder.resolve("state"),
            List.of(TestModels.bundle()),
            PlanningSettings.eachGeneration(SearchSettings.DEFAULTS),
            TestSettings.NO_TRAINING,
            EnumSet.allOf(Extension.class),
            0);
    log = new LogClient(kafka.bootstrapServers(), registry.url(), "shardtide.");
    log.publish(
        Fixtures.event(
            Fixtures.set(2, Fixtures.GIB),
            Fixtures.upsert("a", 100_000, 64, 20),
            Fixtures.upsert("b", 50_000, 32, 5)));
    log.plans(1);
    log.publish(Fixtures.event(Fixtures.upsert("c", 10_000, 16, 2)));
    plans = log.plans(2);
    log.publish(Fixtures.event(OptionalLong.of(1), Fixtures.drop("a")));
    log.rejected(1);
    log.publishValue(log.topics().of(CURRENT_FORECASTS), Fixtures.WORKLOAD, forecasts());
    measure(plans.get(1));
    share();
    document = get("/api/openapi.json");
    awaitServed(planner.url());
  }

  @AfterAll
  static void stop() throws Exception {
    log.close();
    planner.close();
    registry.close();
    kafka.close();
  }

  private static TableForecasts forecasts() {
    Range soon = new Range(2.5, 3, Double.POSITIVE_INFINITY);
    return new TableForecasts(
        Fixtures.WORKLOAD,
        "report",
        Fixtures.TIME,
        1,
        List.of(
            new TableForecast(
                "a",
                70,
                100,
                200,
                1,
                2,
                3,
                new Range(71, 72, 73),
                new Range(74, 75, 76),
                new Range(77, 78, 79),
                Optional.of(soon),
                Optional.of(
                    new TableInputs(
                        new TableGrowth(
                            FillHistory.of(new Fill(T_MS - 1_000, 65)).with(new Fill(T_MS, 70)),
                            100,
                            200,
                            T_MS),
                        0,
                        false,
                        8)))),
        List.of(),
        Optional.of(new MemoryEnd(soon, 5)),
        Optional.empty());
  }

  /** Gives a workload all of a pool of two devices, and waits for its plan on them. */
  private static void share() throws Exception {
    log.publish(
        Fixtures.eventOf(
            POOLED, Fixtures.set(1, Fixtures.GIB), Fixtures.upsert("p", 10_000, 16, 2)));
    publish(
        PoolSamples.event(
            new PoolUpdate.PoolSet(PoolSamples.pool(2, Fixtures.GIB)),
            PoolSamples.claim(POOLED, 2, 2, 1)));
    Awaitility.await("a plan on two devices")
        .atMost(PATIENCE)
        .ignoreExceptions()
        .until(
            () -> {
              JsonNode row = get("/api/workload?id=" + POOLED).get("row");
              return row.get("devices").intValue() == 2
                  && row.get("health").textValue().equals("GOOD");
            });
  }

  private static void publish(PoolChange event) throws Exception {
    log.publishValue(log.topics().of(POOL_CHANGES), event.poolId(), event);
  }

  private static void measure(ShardingPlan plan) throws Exception {
    try (var schemas = endpoint().connectRegistry();
        TrainerReports reports = TrainerReports.connect(endpoint(), schemas, "trainer", "run")) {
      reports.adopted(plan, 0).get(30, TimeUnit.SECONDS);
      List<MeasuredDevice> devices =
          plan.prediction().deviceCosts().stream()
              .map(
                  c ->
                      new MeasuredDevice(
                          2 * c.computeMs(), 2 * c.forwardCommMs(), 2 * c.backwardCommMs()))
              .toList();
      AtomicLong step = new AtomicLong();
      // The planner may not know the plan yet: it sets measurements of an unknown plan aside.
      Awaitility.await("35 measurements")
          .atMost(PATIENCE)
          .pollInterval(Duration.ofMillis(50))
          .until(
              () -> {
                reports
                    .measured(plan, step.incrementAndGet(), 1, devices)
                    .get(30, TimeUnit.SECONDS);
                return points(planner.url()) >= 35;
              });
    }
  }

  /** Returns how many points the first line of residuals has. */
  private static int points(String url) throws IOException, InterruptedException {
    return JSON.readTree(request(url + "/api/learning").body()).at("/0/residuals/0/points").size();
  }

  private static Endpoint endpoint() {
    return Endpoint.of(kafka.bootstrapServers(), registry.url());
  }

  private static void awaitServed(String url) {
    Awaitility.await("the measurements and the rejection")
        .atMost(PATIENCE)
        .ignoreExceptions()
        .until(
            () ->
                points(url) >= 35
                    && get(url, "/api/events").toString().contains("STALE_GENERATION")
                    && get(url, "/api/statistics").get("tablesAreRead").booleanValue());
  }

  /** Each browser receives the first statistics at once, and the next ones with all others. */
  @Test
  void hundreds_of_browsers_follow_and_one_too_many_learns_what_to_do() throws Exception {
    List<HttpResponse<Stream<String>>> browsers = new ArrayList<>();
    HttpRequest follow = HttpRequest.newBuilder(URI.create(planner.url() + "/api/stream")).build();
    try {
      for (int browser = 0; browser < 640; browser++) {
        // The server notices at its next update that a stream of another test is closed.
        browsers.add(
            Awaitility.await("a place for a browser")
                .pollDelay(Duration.ZERO)
                .atMost(PATIENCE)
                .until(
                    () -> HTTP.send(follow, HttpResponse.BodyHandlers.ofLines()),
                    response -> response.statusCode() == 200));
      }
      HttpResponse<String> refused = request(planner.url() + "/api/stream");
      assertThat(refused.statusCode()).isEqualTo(503);
      assertThat(refused.body())
          .contains(
              "At most 640 browsers may follow this planner, and as many do."
                  + " Close one, or open the dashboard of another planner");
      assertThat(browsers)
          .allMatch(
              response ->
                  response.body().filter(line -> line.equals("event: statistics")).limit(2).count()
                      == 2);
    } finally {
      browsers.forEach(response -> response.body().close());
    }
    Awaitility.await("a place for another browser")
        .atMost(PATIENCE)
        .until(
            () -> {
              HttpResponse<Stream<String>> next =
                  HTTP.send(follow, HttpResponse.BodyHandlers.ofLines());
              next.body().close();
              return next.statusCode() == 200;
            });
  }

  private static HttpResponse<String> request(String url) throws IOException, InterruptedException {
    return HTTP.send(
        HttpRequest.newBuilder(URI.create(url)).build(), HttpResponse.BodyHandlers.ofString());
  }

  private static JsonNode get(String path) throws IOException, InterruptedException {
    return get(planner.url(), path);
  }

  private static JsonNode get(String url, String path) throws IOException, InterruptedException {
    HttpResponse<String> response = request(url + path);
    assertThat(response.statusCode()).as(response.body()).isEqualTo(200);
    return JSON.readTree(response.body());
  }

  private static void assertMatches(JsonNode value, JsonNode schema) {
    ObjectNode whole = (ObjectNode) schema.deepCopy();
    whole.set("components", document.get("components"));
    assertThat(
            JsonSchemaFactory.getInstance(SpecVersion.VersionFlag.V202012)
                .getSchema(whole)
                .validate(value))
        .isEmpty();
  }

  /** Requests every documented path and validates the response against its schema. */
  @Test
  void responses_match_the_document() throws Exception {
    String first = plans.get(0).planId();
    String second = plans.get(1).planId();
    int requested = 0;
    for (String path :
        List.of(
            "/api/workloads",
            "/api/workload?id=" + Fixtures.WORKLOAD,
            "/api/tables?workload=" + Fixtures.WORKLOAD,
            "/api/plan?id=" + second,
            "/api/diff?earlier=%s&later=%s".formatted(first, second),
            "/api/why?plan=" + second,
            "/api/pools",
            "/api/pool?id=" + PoolSamples.POOL,
            "/api/learning",
            "/api/events",
            "/api/statistics")) {
      JsonNode operation = document.at("/paths").get(path.replaceAll("\\?.*", "")).get("get");
      JsonNode schema = operation.at("/responses/200/content/application~1json/schema");
      assertThat(schema.isMissingNode()).as(path).isFalse();
      assertMatches(get(path), schema);
      requested++;
    }
    assertThat(requested)
        .as("all but the stream and the two changes")
        .isEqualTo(document.at("/paths").size() - 3);
  }

  @Test
  void values_agree_with_the_log() throws Exception {
    ShardingPlan plan = plans.get(1);
    JsonNode row = get("/api/workloads").get(0);
    assertThat(row.get("planId").textValue()).isEqualTo(plan.planId());
    assertThat(row.get("generation").longValue()).isEqualTo(2);
    assertThat(row.get("tables").intValue()).isEqualTo(3);
    assertThat(row.get("simulated").booleanValue()).isTrue();
    assertThat(row.get("measuredMs").doubleValue()).isPositive();
    JsonNode shown = get("/api/plan?id=" + plan.planId());
    assertThat(shown.get("shards").size()).isEqualTo(plan.shards().size());
    assertThat(shown.get("predictedMs").doubleValue()).isEqualTo(plan.predictedMs());
    JsonNode workload = get("/api/workload?id=" + Fixtures.WORKLOAD);
    assertThat(workload.at("/plans/1/beforeMs").doubleValue())
        .isEqualTo(plans.get(0).predictedMs());
    assertThat(workload.at("/plans/1/fate/kind").textValue()).isEqualTo("ADOPTED");
    assertThat(workload.at("/cluster/devices").intValue()).isEqualTo(2);
    assertThat(get("/api/tables?workload=" + Fixtures.WORKLOAD).at("/0/bytes").longValue())
        .isEqualTo(100_000L * 64 * 4);
    JsonNode diff =
        get("/api/diff?earlier=%s&later=%s".formatted(plans.get(0).planId(), plan.planId()));
    assertThat(diff.get("added").toString()).isEqualTo("[\"c\"]");
    JsonNode points = get("/api/learning").at("/0/residuals/0/points");
    assertThat(points.get(34).get("ratio").doubleValue())
        .isEqualTo(2, org.assertj.core.data.Offset.offset(1e-6));
    assertThat(points.get(34).get("high").doubleValue())
        .as("15 % above the usual ratio")
        .isEqualTo(2 * 1.15, org.assertj.core.data.Offset.offset(1e-5));
    assertThat(points.get(10).get("usual").isNull()).as("too few measurements").isTrue();
    assertThat(get("/api/why?plan=" + plan.planId()).at("/events/0/changes").toString())
        .contains("c");
  }

  @Test
  void a_pool_agrees_with_the_log() throws Exception {
    Allocation allocation = log.committed(log.topics().of(ALLOCATIONS)).get(0);
    JsonNode pool = get("/api/pool?id=" + PoolSamples.POOL);
    assertThat(pool.at("/history/0/allocationId").textValue()).isEqualTo(allocation.allocationId());
    assertThat(pool.at("/devices/1").intValue()).isEqualTo(2);
    JsonNode share = pool.at("/allocation/workloads/0");
    assertThat(share.get("workloadId").textValue()).isEqualTo(POOLED);
    assertThat(pool.at("/state/pool/nodes").has(share.at("/nodes/0").textValue())).isTrue();
    assertThat(share.get("samplesPerSecond").doubleValue())
        .isEqualTo(allocation.workloads().get(0).samplesPerSecond());
    assertThat(pool.at("/curves/0/points/0/devices").intValue()).isEqualTo(2);
    assertThat(pool.at("/simulatedModels/0")).isEqualTo(pool.at("/curves/0/modelId"));
    assertThat(get("/api/workload?id=" + POOLED).at("/pool/claim/leastDevices").intValue())
        .isEqualTo(2);
    assertThat(get("/api/workload?id=" + Fixtures.WORKLOAD).get("pool").isNull()).isTrue();
  }

  @Test
  void forecasts_agree_with_the_log() throws Exception {
    JsonNode forecasts = get("/api/workload?id=" + Fixtures.WORKLOAD).get("forecasts");
    JsonNode table = forecasts.at("/tables/0");
    assertThat(table.get("ids").longValue()).isEqualTo(70);
    assertThat(table.get("slotsGiven").longValue()).isEqualTo(200);
    assertThat(table.get("fullAt").doubleValue()).isEqualTo(80);
    assertThat(table.at("/past/0/ids").doubleValue()).isEqualTo(65);
    assertThat(table.at("/past/1/atMs").longValue()).isEqualTo(T_MS);
    assertThat(table.get("resizedAt").textValue()).isEqualTo("2026-11-21T10:15:30.000Z");
    assertThat(table.at("/inFourWeeks/high").doubleValue()).isEqualTo(79);
    assertThat(table.at("/daysUntilFull/latest").isNull()).as("more than 180 days").isTrue();
    assertThat(table.at("/daysUntilFull/text").textValue())
        .isEqualTo("3.0 days (2.5 to more than 180 days)");
    assertThat(forecasts.at("/memoryEnd/bytesShort").longValue()).isEqualTo(5);
    assertThat(get("/api/workload?id=" + POOLED).get("forecasts").isNull()).isTrue();
  }

  @Test
  void missing_workloads_and_plans_are_404() throws Exception {
    for (String path :
        List.of(
            "/api/workload?id=nowhere",
            "/api/tables?workload=nowhere",
            "/api/plan?id=beef",
            "/api/pool?id=nowhere",
            "/api/diff?earlier=beef&later=" + plans.get(0).planId())) {
      HttpResponse<String> response = request(planner.url() + path);
      assertThat(response.statusCode()).as(path).isEqualTo(404);
      assertThat(response.body()).contains("\"problem\"");
    }
    HttpResponse<String> invalid =
        request(
            planner.url() + "/api/why?plan=" + URLEncoder.encode("<b>", StandardCharsets.UTF_8));
    assertThat(invalid.statusCode()).isEqualTo(400);
    assertThat(invalid.body()).contains("is not a plan id, expected");
  }

  /** Another process, which runs no planner, shows all workloads, as any instance does. */
  @Test
  void every_instance_shows_all_workloads() throws Exception {
    try (DashboardFeed feed = new DashboardFeed(endpoint(), Set.of(Extension.POOLS));
        WebServer other =
            WebServer.start(
                "127.0.0.1",
                0,
                () -> new Health(List.of(Health.Component.up("kafka"))),
                () -> true,
                () -> "",
                Optional.empty(),
                Optional.of(feed.dashboard(Optional.empty())))) {
      assertThat(request(other.url() + "/api/workloads").statusCode()).isEqualTo(503);
      feed.start();
      awaitServed(other.url());
      for (String path :
          List.of(
              "/api/workloads",
              "/api/tables?workload=" + Fixtures.WORKLOAD,
              "/api/plan?id=" + plans.get(0).planId(),
              "/api/why?plan=" + plans.get(1).planId())) {
        assertThat(get(other.url(), path)).as(path).isEqualTo(get(path));
      }
    }
  }

  @Test
  void updates_are_streamed() throws Exception {
    HttpResponse<java.io.InputStream> stream =
        HTTP.send(
            HttpRequest.newBuilder(URI.create(planner.url() + "/api/stream")).build(),
            HttpResponse.BodyHandlers.ofInputStream());
    assertThat(stream.headers().firstValue("content-type").orElseThrow())
        .startsWith("text/event-stream");
    try (BufferedReader lines =
        new BufferedReader(new InputStreamReader(stream.body(), StandardCharsets.UTF_8))) {
      assertThat(lines.readLine()).isEqualTo("event: statistics");
      log.publish(Fixtures.event(OptionalLong.of(99), Fixtures.drop("a")));
      publish(PoolSamples.event(new PoolUpdate.PoolNodeAdded(new PoolNode("n3", ""))));
      boolean change = false;
      boolean rejected = false;
      boolean pool = false;
      for (String line = lines.readLine(); !(change && rejected && pool); line = lines.readLine()) {
        assertThat(line).as("the stream is open").isNotNull();
        if (line.startsWith("data: ")) {
          JsonNode data = JSON.readTree(line.substring("data: ".length()));
          change |= data.path("kind").asText().equals("CHANGE");
          pool |= data.path("poolId").asText().equals(PoolSamples.POOL);
          rejected |= data.path("text").asText().contains("got 99");
        }
      }
    }
  }
}
