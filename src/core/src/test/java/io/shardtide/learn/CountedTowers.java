package io.shardtide.learn;

import io.shardtide.cost.TowerPredictor;
import java.lang.reflect.Proxy;
import java.util.concurrent.atomic.AtomicInteger;

/** Counts how often the towers of a model are run. */
final class CountedTowers {
  private final AtomicInteger runs = new AtomicInteger();
  private final CandidateModel candidate;

  CountedTowers(CandidateModel of) {
    TowerPredictor counted =
        (TowerPredictor)
            Proxy.newProxyInstance(
                TowerPredictor.class.getClassLoader(),
                new Class<?>[] {TowerPredictor.class},
                (proxy, method, arguments) -> {
                  if (method.getName().equals("towers")) {
                    runs.incrementAndGet();
                  }
                  return method.invoke(of.towers(), arguments);
                });
    candidate = new CandidateModel(of.model(), counted);
  }

  CandidateModel candidate() {
    return candidate;
  }

  int runs() {
    return runs.get();
  }
}
