package io.memlane.testing;

import io.grpc.BindableService;
import io.grpc.ForwardingServerCallListener.SimpleForwardingServerCallListener;
import io.grpc.Grpc;
import io.grpc.InsecureServerCredentials;
import io.grpc.Metadata;
import io.grpc.Server;
import io.grpc.ServerBuilder;
import io.grpc.ServerCall;
import io.grpc.ServerCallHandler;
import io.grpc.ServerInterceptor;
import java.io.IOException;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;

/** A gRPC server over a real socket whose services a test writes; keeps what it was sent. */
public final class FakeServer implements AutoCloseable {
  private final Server server;
  private final List<Object> requests = new CopyOnWriteArrayList<>();
  private final List<Metadata> headers = new CopyOnWriteArrayList<>();

  /** Listens on {@code port}; 0 = any that is free. */
  public FakeServer(int port, BindableService... services) throws IOException {
    ServerBuilder<?> builder =
        Grpc.newServerBuilderForPort(port, InsecureServerCredentials.create())
            .intercept(new Recorder());
    for (BindableService service : services) {
      builder.addService(service);
    }
    server = builder.build().start();
  }

  public String address() {
    return "127.0.0.1:" + port();
  }

  public int port() {
    return server.getPort();
  }

  /** Each request message, in the order of arrival. */
  public List<Object> requests() {
    return requests;
  }

  /** Metadata of each call, in the order of arrival. */
  public List<Metadata> headers() {
    return headers;
  }

  @Override
  public void close() {
    server.shutdownNow();
    try {
      server.awaitTermination();
    } catch (InterruptedException interrupt) {
      Thread.currentThread().interrupt();
    }
  }

  private final class Recorder implements ServerInterceptor {
    @Override
    public <Q, R> ServerCall.Listener<Q> interceptCall(
        ServerCall<Q, R> call, Metadata metadata, ServerCallHandler<Q, R> next) {
      headers.add(metadata);
      return new SimpleForwardingServerCallListener<>(next.startCall(call, metadata)) {
        @Override
        public void onMessage(Q message) {
          requests.add(message);
          super.onMessage(message);
        }
      };
    }
  }
}
