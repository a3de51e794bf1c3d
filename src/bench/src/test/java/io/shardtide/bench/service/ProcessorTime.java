package io.shardtide.bench.service;

import com.sun.management.OperatingSystemMXBean;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadInfo;
import java.lang.management.ThreadMXBean;
import java.util.EnumMap;
import java.util.Map;
import java.util.regex.Pattern;

/**
 * Processor time of this process so far. Other processes on the machine affect it much less than
 * elapsed time.
 *
 * @param nanos nanoseconds by group of threads
 */
record ProcessorTime(Map<ThreadKind, Long> nanos) {
  /** Groups of threads. */
  enum ThreadKind {
    /** The thread that folds and predicts. */
    WORKLOAD("shardtide\\.workload-.*StreamThread-\\d+"),
    /** The thread that plans. */
    PLANNING("shardtide\\.planning-.*StreamThread-\\d+"),
    /** The thread of the background search. */
    BACKGROUND_SEARCH("background-search"),
    /** All threads of the process: clients, broker, JVM and benchmark included. */
    ALL("");

    private final Pattern threads;

    ThreadKind(String threads) {
      this.threads = Pattern.compile(threads);
    }
  }

  static ProcessorTime now() {
    ThreadMXBean threads = ManagementFactory.getThreadMXBean();
    Map<ThreadKind, Long> nanos = new EnumMap<>(ThreadKind.class);
    for (ThreadKind group : ThreadKind.values()) {
      nanos.put(group, 0L);
    }
    for (ThreadInfo info : threads.getThreadInfo(threads.getAllThreadIds())) {
      for (ThreadKind group : ThreadKind.values()) {
        if (info != null && group.threads.matcher(info.getThreadName()).matches()) {
          nanos.merge(group, threads.getThreadCpuTime(info.getThreadId()), Long::sum);
        }
      }
    }
    nanos.put(
        ThreadKind.ALL,
        ((OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean()).getProcessCpuTime());
    return new ProcessorTime(nanos);
  }

  /** Returns the processor time of a group since an earlier measurement, in microseconds. */
  double microsSince(ProcessorTime earlier, ThreadKind group) {
    return (nanos.get(group) - earlier.nanos.get(group)) / 1e3;
  }
}
