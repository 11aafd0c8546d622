package io.memlane.vectors;

import com.google.gson.JsonArray;
import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import com.google.gson.JsonPrimitive;
import com.google.protobuf.InvalidProtocolBufferException;
import com.google.protobuf.Message;
import com.google.protobuf.util.JsonFormat;
import io.grpc.CallOptions;
import io.grpc.Channel;
import io.grpc.MethodDescriptor;
import io.grpc.MethodDescriptor.Marshaller;
import io.grpc.MethodDescriptor.MethodType;
import io.grpc.MethodDescriptor.PrototypeMarshaller;
import io.grpc.ServiceDescriptor;
import io.grpc.StatusRuntimeException;
import io.grpc.stub.ClientCalls;
import io.grpc.stub.StreamObserver;
import io.memlane.client.FieldViolation;
import io.memlane.client.MemlaneException;
import io.memlane.v1.ComplianceServiceGrpc;
import io.memlane.v1.ContextServiceGrpc;
import io.memlane.v1.DiagnosticsServiceGrpc;
import io.memlane.v1.KnowledgeServiceGrpc;
import io.memlane.v1.MemoryServiceGrpc;
import io.memlane.v1.RuleServiceGrpc;
import io.memlane.v1.SessionServiceGrpc;
import io.memlane.vectors.Expectations.VectorException;
import java.io.ByteArrayInputStream;
import java.io.InputStream;
import java.util.ArrayList;
import java.util.Base64;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeSet;
import java.util.UUID;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Function;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** Runs vectors over a client's channel, with generated messages from and to JSON. */
final class VectorRunner {
  private static final long CALL_SECONDS = 30;
  private static final double UNTIL_SECONDS = 10;
  private static final long POLL_NANOS = TimeUnit.MILLISECONDS.toNanos(20);

  private static final Map<String, MethodDescriptor<?, ?>> METHODS =
      Stream.of(
              MemoryServiceGrpc.getServiceDescriptor(),
              SessionServiceGrpc.getServiceDescriptor(),
              ContextServiceGrpc.getServiceDescriptor(),
              KnowledgeServiceGrpc.getServiceDescriptor(),
              RuleServiceGrpc.getServiceDescriptor(),
              ComplianceServiceGrpc.getServiceDescriptor(),
              DiagnosticsServiceGrpc.getServiceDescriptor())
          .map(ServiceDescriptor::getMethods)
          .flatMap(methods -> methods.stream())
          .collect(Collectors.toMap(MethodDescriptor::getFullMethodName, Function.identity()));

  private final Channel channel;
  private final Map<String, JsonElement> variables = new HashMap<>();

  /** One runner runs one vector. */
  VectorRunner(Channel channel) {
    this.channel = channel;
    variables.put(
        "run", new JsonPrimitive(UUID.randomUUID().toString().replace("-", "").substring(0, 12)));
  }

  void run(Vector vector) {
    for (int number = 0; number < vector.steps().size(); number++) {
      Vector.Step step = vector.steps().get(number);
      List<String> found;
      try {
        found = take(step);
      } catch (VectorException failure) {
        found = List.of(failure.getMessage());
      }
      if (!found.isEmpty()) {
        throw new AssertionError(
            "%s, step %d (%s): %s%n  %s"
                .formatted(
                    vector.name(),
                    number,
                    step.text("rpc"),
                    step.text("comment"),
                    String.join("\n  ", found)));
      }
    }
  }

  /** Runs one step and saves its values; returns the differences. */
  private List<String> take(Vector.Step step) {
    JsonObject expected = Expectations.expand(step.get("expect"), variables).getAsJsonObject();
    JsonElement answer;
    try {
      answer = lastAnswer(step);
    } catch (MemlaneException error) {
      return expected.has("error")
          ? differences(expected.getAsJsonObject("error"), error)
          : List.of(
              "expected an answer, got " + error.code() + " " + error + " " + error.violations());
    }
    if (expected.has("error")) {
      return List.of("expected " + expected + ", got " + answer);
    }
    JsonElement template = expected.asMap().values().iterator().next();
    List<String> found = Expectations.differences(template, answer, "");
    if (found.isEmpty() && step.has("save")) {
      step.get("save")
          .getAsJsonObject()
          .asMap()
          .forEach(
              (name, path) -> variables.put(name, Expectations.dig(answer, path.getAsString())));
    }
    return found;
  }

  private JsonElement lastAnswer(Vector.Step step) {
    JsonElement answer = call(step);
    if (!step.has("until")) {
      return answer;
    }
    JsonElement wanted = Expectations.expand(step.get("until"), variables);
    double seconds =
        step.has("timeout_seconds") ? step.get("timeout_seconds").getAsDouble() : UNTIL_SECONDS;
    long end = System.nanoTime() + (long) (seconds * 1e9);
    List<String> found = Expectations.differences(wanted, answer, "");
    while (!found.isEmpty()) {
      if (System.nanoTime() > end) {
        throw new VectorException("not within " + seconds + " s: " + found);
      }
      LockSupport.parkNanos(POLL_NANOS);
      answer = call(step);
      found = Expectations.differences(wanted, answer, "");
    }
    return answer;
  }

  private JsonElement call(Vector.Step step) {
    MethodDescriptor<?, ?> method = METHODS.get(step.text("rpc"));
    if (method == null) {
      throw new VectorException("there is no " + step.text("rpc"));
    }
    try {
      if (step.has("request_base64")) {
        return ask(raw(method), Base64.getDecoder().decode(step.text("request_base64")));
      }
      if (step.has("requests")) {
        return exchange(
            method, Expectations.expand(step.get("requests"), variables).getAsJsonArray());
      }
      return ask(method, Expectations.expand(step.get("request"), variables));
    } catch (StatusRuntimeException failure) {
      throw MemlaneException.of(failure);
    }
  }

  private <Q, R> JsonElement ask(MethodDescriptor<Q, R> method, JsonElement request) {
    return ask(method, parsed(method, request));
  }

  private <Q, R> JsonElement ask(MethodDescriptor<Q, R> method, Q request) {
    if (method.getType() == MethodType.UNARY) {
      return printed(ClientCalls.blockingUnaryCall(channel, method, options(), request));
    }
    JsonArray answers = new JsonArray();
    ClientCalls.blockingServerStreamingCall(channel, method, options(), request)
        .forEachRemaining(answer -> answers.add(printed(answer)));
    return answers;
  }

  private <Q, R> JsonElement exchange(MethodDescriptor<Q, R> method, JsonArray requests) {
    BlockingQueue<JsonElement> answers = new LinkedBlockingQueue<>();
    CompletableFuture<Void> end = new CompletableFuture<>();
    StreamObserver<Q> sender =
        ClientCalls.asyncBidiStreamingCall(
            channel.newCall(method, options()),
            new StreamObserver<R>() {
              @Override
              public void onNext(R answer) {
                answers.add(printed(answer));
              }

              @Override
              public void onError(Throwable failure) {
                end.completeExceptionally(failure);
              }

              @Override
              public void onCompleted() {
                end.complete(null);
              }
            });
    requests.forEach(request -> sender.onNext(parsed(method, request)));
    sender.onCompleted();
    try {
      end.join();
    } catch (CompletionException failure) {
      if (failure.getCause() instanceof StatusRuntimeException status) {
        throw status;
      }
      throw failure;
    }
    JsonArray all = new JsonArray();
    answers.forEach(all::add);
    return all;
  }

  private static CallOptions options() {
    return CallOptions.DEFAULT.withDeadlineAfter(CALL_SECONDS, TimeUnit.SECONDS);
  }

  private static <Q> Q parsed(MethodDescriptor<Q, ?> method, JsonElement json) {
    PrototypeMarshaller<Q> marshaller = (PrototypeMarshaller<Q>) method.getRequestMarshaller();
    Message.Builder builder = ((Message) marshaller.getMessagePrototype()).newBuilderForType();
    try {
      JsonFormat.parser().merge(json.toString(), builder);
    } catch (InvalidProtocolBufferException failure) {
      throw new VectorException(failure.getMessage() + " in " + json);
    }
    return marshaller.getMessageClass().cast(builder.build());
  }

  private static JsonElement printed(Object answer) {
    try {
      return JsonParser.parseString(JsonFormat.printer().print((Message) answer));
    } catch (InvalidProtocolBufferException failure) {
      throw new VectorException(failure.getMessage());
    }
  }

  /** The same method with a request that is bytes. */
  private static <R> MethodDescriptor<byte[], R> raw(MethodDescriptor<?, R> method) {
    Marshaller<byte[]> asTheyAre =
        new Marshaller<>() {
          @Override
          public InputStream stream(byte[] bytes) {
            return new ByteArrayInputStream(bytes);
          }

          @Override
          public byte[] parse(InputStream stream) {
            throw new UnsupportedOperationException("requests are only sent");
          }
        };
    return method.toBuilder(asTheyAre, method.getResponseMarshaller()).build();
  }

  private static List<String> differences(JsonObject expected, MemlaneException error) {
    List<String> found = new ArrayList<>();
    JsonObject got = new JsonObject();
    got.addProperty("code", error.code().name());
    got.addProperty("reason", error.reason());
    JsonObject metadata = new JsonObject();
    error.metadata().forEach(metadata::addProperty);
    got.add("metadata", metadata);
    JsonObject compared = expected.deepCopy();
    JsonElement fields = compared.remove("fields");
    found.addAll(Expectations.differences(compared, got, "error"));
    if (fields != null) {
      TreeSet<String> wanted = new TreeSet<>();
      fields.getAsJsonArray().forEach(field -> wanted.add(field.getAsString()));
      TreeSet<String> named =
          new TreeSet<>(error.violations().stream().map(FieldViolation::field).toList());
      if (!wanted.equals(named)) {
        found.add(
            "error.fields: expected "
                + wanted
                + ", got "
                + named
                + " ("
                + error.getMessage()
                + ")");
      }
    }
    return found;
  }
}
