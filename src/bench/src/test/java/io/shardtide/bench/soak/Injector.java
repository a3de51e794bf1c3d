package io.shardtide.bench.soak;

import io.shardtide.bench.soak.FaultSchedule.ScheduledFault;
import io.shardtide.embedded.JavaProcess;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.EnumSet;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.ExecutionException;
import java.util.stream.Collectors;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.AdminClientConfig;
import org.apache.kafka.clients.admin.NewPartitionReassignment;
import org.apache.kafka.clients.admin.TopicDescription;
import org.apache.kafka.common.ElectionType;
import org.apache.kafka.common.Node;
import org.apache.kafka.common.TopicPartition;

/** Does to a cluster what a schedule says, and mends it. */
final class Injector implements AutoCloseable {
  private static final Duration SLOW = Duration.ofMillis(200);
  private static final long HALF_AN_HOUR = 1_800;

  /** libfaketime reads the offset each second. */
  private static final Duration CLOCK_READ = Duration.ofSeconds(2);

  private static final int BLOCK = 1 << 16;
  private static final String FILLER = "filler";

  private final SoakCluster cluster;
  private final Admin admin;

  Injector(SoakCluster cluster) {
    this.cluster = cluster;
    admin =
        Admin.create(
            Map.of(AdminClientConfig.BOOTSTRAP_SERVERS_CONFIG, cluster.bootstrapServers()));
  }

  /** Returns what can be done here. */
  Set<FaultKind> possible() {
    Set<FaultKind> kinds = EnumSet.allOf(FaultKind.class);
    if (!SoakCluster.canSetClocks()) {
      kinds.remove(FaultKind.CLOCK_STEPPED);
    }
    if (!cluster.hasDisks()) {
      kinds.remove(FaultKind.DISK_FULL);
    }
    return kinds;
  }

  /** Begins a fault; returns when it is done, and one without duration when it is over. */
  void begin(ScheduledFault fault) throws IOException, InterruptedException {
    int target = fault.target();
    switch (fault.kind()) {
      case PLANNER_KILLED -> cluster.planners().get(target).kill();
      case PLANNERS_RESTARTED -> restart(cluster.planners());
      case PLANNER_CUT_OFF -> cluster.linksOfPlanner(target).forEach(TcpLink::cut);
      case PLANNER_PAUSED -> cluster.planners().get(target).pause();
      case BROKER_KILLED -> cluster.brokers().get(target).kill();
      case BROKERS_RESTARTED -> restartBrokers();
      case BROKER_SLOW -> cluster.linksOfBroker(target).forEach(link -> link.delay(SLOW));
      case LEADERS_MOVED -> moveLeaders(new Random(fault.seed()));
      case PARTITIONS_REASSIGNED -> reassign(Optional.of(target + 1));
      case REGISTRY_KILLED -> cluster.registries().get(target % cluster.registries().size()).kill();
      case REGISTRY_AWAY -> {
        cluster.registries().forEach(JavaProcess::kill);
        cluster.planners().get(target).stop();
        cluster.planners().get(target).start();
      }
      case DISK_FULL -> fill(cluster.disk(target).resolve(FILLER));
      case CLOCK_STEPPED ->
          step(target, new Random(fault.seed()).nextLong(-HALF_AN_HOUR, HALF_AN_HOUR));
    }
  }

  /** Ends a fault; returns when what was started runs, which may still recover. */
  void end(ScheduledFault fault) throws IOException, InterruptedException {
    int target = fault.target();
    switch (fault.kind()) {
      case PLANNER_KILLED -> again(cluster.planners().get(target));
      case PLANNER_CUT_OFF -> cluster.linksOfPlanner(target).forEach(TcpLink::mend);
      case PLANNER_PAUSED -> cluster.planners().get(target).resume();
      case BROKER_KILLED -> {
        again(cluster.brokers().get(target));
        awaitInSync();
      }
      case BROKER_SLOW -> cluster.linksOfBroker(target).forEach(link -> link.delay(Duration.ZERO));
      case PARTITIONS_REASSIGNED -> reassign(Optional.empty());
      case REGISTRY_KILLED -> again(cluster.registries().get(target % cluster.registries().size()));
      case REGISTRY_AWAY -> {
        for (JavaProcess registry : cluster.registries()) {
          again(registry);
        }
        cluster.planners().get(target).awaitReady();
      }
      case DISK_FULL -> Files.deleteIfExists(cluster.disk(target).resolve(FILLER));
      case CLOCK_STEPPED -> step(target, 0);
      case PLANNERS_RESTARTED, BROKERS_RESTARTED, LEADERS_MOVED -> {}
    }
    supervise();
  }

  /** Starts the planners whose processes ended by themselves, because of a disk or a clock. */
  private void supervise() throws IOException, InterruptedException {
    for (JavaProcess planner : cluster.planners()) {
      if (!planner.isAlive()) {
        again(planner);
      }
    }
  }

  private void step(int planner, long offsetSeconds) throws IOException, InterruptedException {
    cluster.setClock(planner, offsetSeconds);
    // A planner whose clock was set back ends when it has seen that.
    Thread.sleep(CLOCK_READ.toMillis());
    supervise();
  }

  private static void again(JavaProcess process) throws IOException, InterruptedException {
    process.start();
    process.awaitReady();
  }

  private static void restart(List<JavaProcess> processes)
      throws IOException, InterruptedException {
    for (JavaProcess process : processes) {
      process.stop();
      again(process);
    }
  }

  /** One after another, each when the one before it has all its copies again. */
  private void restartBrokers() throws IOException, InterruptedException {
    for (JavaProcess broker : cluster.brokers()) {
      broker.stop();
      again(broker);
      awaitInSync();
    }
  }

  private static void fill(Path file) throws IOException {
    byte[] block = new byte[BLOCK];
    try (OutputStream out = Files.newOutputStream(file)) {
      while (true) {
        out.write(block);
      }
    } catch (IOException e) {
      if (!String.valueOf(e.getMessage()).contains("No space left")) {
        throw e;
      }
    }
  }

  private Map<TopicPartition, List<Integer>> replicas() throws InterruptedException {
    Map<TopicPartition, List<Integer>> replicas = new HashMap<>();
    for (TopicDescription topic : topics()) {
      topic
          .partitions()
          .forEach(
              partition ->
                  replicas.put(
                      new TopicPartition(topic.name(), partition.partition()),
                      partition.replicas().stream().map(Node::id).toList()));
    }
    return replicas;
  }

  private List<TopicDescription> topics() throws InterruptedException {
    try {
      Set<String> names =
          admin.listTopics().names().get().stream()
              .filter(name -> name.startsWith(SoakCluster.topics().prefix()))
              .collect(Collectors.toCollection(HashSet::new));
      return List.copyOf(admin.describeTopics(names).allTopicNames().get().values());
    } catch (ExecutionException e) {
      throw new IllegalStateException("The brokers do not describe topics", e.getCause());
    }
  }

  /** Waits until each partition has all its copies. */
  private void awaitInSync() throws InterruptedException {
    while (topics().stream()
        .flatMap(topic -> topic.partitions().stream())
        .anyMatch(partition -> partition.isr().size() < partition.replicas().size())) {
      Thread.sleep(100);
    }
  }

  /** Gives each partition another preferred leader, and elects it. */
  private void moveLeaders(Random random) throws InterruptedException {
    Map<TopicPartition, Optional<NewPartitionReassignment>> moved = new HashMap<>();
    Map<TopicPartition, List<Integer>> replicas = replicas();
    replicas.forEach(
        (partition, of) -> {
          List<Integer> shuffled = new ArrayList<>(of);
          Collections.shuffle(shuffled, random);
          moved.put(partition, Optional.of(new NewPartitionReassignment(shuffled)));
        });
    alter(moved);
    try {
      admin.electLeaders(ElectionType.PREFERRED, replicas.keySet()).partitions().get();
    } catch (ExecutionException e) {
      throw new IllegalStateException("The brokers do not elect leaders", e.getCause());
    }
  }

  /** Takes a broker's copies away, or gives each broker a copy of everything again. */
  private void reassign(Optional<Integer> without) throws InterruptedException {
    Map<TopicPartition, Optional<NewPartitionReassignment>> moved = new HashMap<>();
    replicas()
        .forEach(
            (partition, of) -> {
              List<Integer> next = new ArrayList<>(of);
              without.ifPresentOrElse(
                  next::remove,
                  () -> {
                    for (int b = 1; b <= SoakCluster.MACHINES; b++) {
                      if (!next.contains(b)) {
                        next.add(b);
                      }
                    }
                  });
              moved.put(partition, Optional.of(new NewPartitionReassignment(next)));
            });
    alter(moved);
    awaitInSync();
  }

  private void alter(Map<TopicPartition, Optional<NewPartitionReassignment>> moved)
      throws InterruptedException {
    try {
      admin.alterPartitionReassignments(moved).all().get();
      while (!admin.listPartitionReassignments().reassignments().get().isEmpty()) {
        Thread.sleep(100);
      }
    } catch (ExecutionException e) {
      throw new IllegalStateException("The brokers do not move partitions", e.getCause());
    }
  }

  @Override
  public void close() {
    admin.close(Duration.ZERO);
  }
}
