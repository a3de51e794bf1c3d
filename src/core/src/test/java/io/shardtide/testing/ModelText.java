package io.shardtide.testing;

import io.shardtide.cost.ModelBundle;
import java.lang.reflect.ParameterizedType;
import java.lang.reflect.RecordComponent;
import java.lang.reflect.Type;
import java.math.BigDecimal;
import java.math.MathContext;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.Iterator;
import java.util.List;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.SortedMap;
import java.util.SortedSet;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.stream.Collectors;

/**
 * A model as lines of text, which need no library: components of records one after another, lists
 * and options after their length, weights of a layer in one line. Weights are rounded to 3 digits,
 * other numbers to 7; so the id is left out.
 */
public final class ModelText {
  private static final MathContext WEIGHTS = new MathContext(3);
  private static final MathContext NUMBERS = new MathContext(7);

  private ModelText() {}

  /** Returns the lines of a model. */
  public static List<String> write(ModelBundle bundle) {
    List<String> lines = new ArrayList<>();
    write(bundle, lines);
    // The id, which is the first component.
    return lines.subList(1, lines.size());
  }

  /** Returns the model of lines, with the id that follows from its content. */
  public static ModelBundle read(List<String> lines) {
    List<String> all = new ArrayList<>(List.of(""));
    all.addAll(lines);
    return ((ModelBundle) read(ModelBundle.class, all.iterator())).identified();
  }

  private static void write(Object value, List<String> lines) {
    if (value instanceof Record) {
      for (RecordComponent component : value.getClass().getRecordComponents()) {
        write(component(value, component), lines);
      }
    } else if (value instanceof Collection<?> many) {
      lines.add(Integer.toString(many.size()));
      many.forEach(one -> write(one, lines));
    } else if (value instanceof Optional<?> option) {
      write(option.stream().toList(), lines);
    } else if (value instanceof OptionalDouble option) {
      write(option.stream().boxed().toList(), lines);
    } else if (value instanceof SortedMap<?, ?> map) {
      write(map.keySet(), lines);
      write(map.values(), lines);
    } else if (value instanceof float[] weights) {
      String[] texts = new String[weights.length];
      Arrays.setAll(texts, i -> Float.toString(round(weights[i], WEIGHTS).floatValue()));
      lines.add(String.join(" ", texts));
    } else {
      lines.add(
          value instanceof Double number
              ? round(number, NUMBERS).stripTrailingZeros().toString()
              : value.toString());
    }
  }

  private static BigDecimal round(double value, MathContext digits) {
    return new BigDecimal(value).round(digits);
  }

  private static Object read(Type type, Iterator<String> lines) {
    if (type instanceof ParameterizedType generic) {
      return read(generic.getRawType(), generic.getActualTypeArguments(), lines);
    }
    Class<?> simple = (Class<?>) type;
    if (simple.isRecord()) {
      return ofRecord(simple, lines);
    }
    String line = lines.next();
    if (simple.isEnum()) {
      return Arrays.stream(simple.getEnumConstants())
          .filter(constant -> constant.toString().equals(line))
          .findFirst()
          .orElseThrow();
    }
    return switch (simple.getSimpleName()) {
      case "int", "Integer" -> Integer.valueOf(line);
      case "long" -> Long.valueOf(line);
      case "double", "Double" -> Double.valueOf(line);
      case "boolean" -> Boolean.valueOf(line);
      case "float[]" -> floats(line);
      case "OptionalDouble" ->
          line.equals("0")
              ? OptionalDouble.empty()
              : OptionalDouble.of(Double.parseDouble(lines.next()));
      default -> line;
    };
  }

  private static Object read(Type raw, Type[] of, Iterator<String> lines) {
    List<Object> first = list(of[0], lines);
    if (raw == Optional.class) {
      return first.stream().findFirst();
    }
    if (raw == SortedSet.class) {
      return new TreeSet<>(first);
    }
    if (raw == SortedMap.class) {
      Iterator<Object> values = list(of[1], lines).iterator();
      return first.stream()
          .collect(Collectors.toMap(k -> k, k -> values.next(), (a, b) -> a, TreeMap::new));
    }
    return first;
  }

  private static List<Object> list(Type of, Iterator<String> lines) {
    List<Object> list = new ArrayList<>();
    for (int left = Integer.parseInt(lines.next()); left > 0; left--) {
      list.add(read(of, lines));
    }
    return list;
  }

  private static float[] floats(String line) {
    String[] texts = line.split(" ", -1);
    float[] floats = new float[texts.length];
    for (int i = 0; i < floats.length; i++) {
      floats[i] = Float.parseFloat(texts[i]);
    }
    return floats;
  }

  private static Object ofRecord(Class<?> type, Iterator<String> lines) {
    RecordComponent[] components = type.getRecordComponents();
    Object[] values = new Object[components.length];
    for (int c = 0; c < values.length; c++) {
      values[c] = read(components[c].getGenericType(), lines);
    }
    try {
      return type.getDeclaredConstructor(
              Arrays.stream(components).map(RecordComponent::getType).toArray(Class<?>[]::new))
          .newInstance(values);
    } catch (ReflectiveOperationException e) {
      throw new LinkageError(e.getMessage(), e);
    }
  }

  private static Object component(Object value, RecordComponent component) {
    try {
      return component.getAccessor().invoke(value);
    } catch (ReflectiveOperationException e) {
      throw new LinkageError(e.getMessage(), e);
    }
  }
}
