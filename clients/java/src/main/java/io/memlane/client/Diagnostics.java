package io.memlane.client;

import com.google.protobuf.ByteString;
import io.grpc.CallOptions;
import io.grpc.Channel;
import io.memlane.v1.DiagnosticsServiceGrpc;
import io.memlane.v1.EchoRequest;
import io.memlane.v1.GetServerInfoRequest;
import io.memlane.v1.GetServerInfoResponse;

/** Is the server there, and what is it made of: DiagnosticsService. */
public final class Diagnostics extends Calls<Diagnostics> {
  Diagnostics(Channel channel, CallOptions options) {
    super(channel, options);
  }

  @Override
  Diagnostics with(Channel channel, CallOptions options) {
    return new Diagnostics(channel, options);
  }

  /**
   * A null round trip.
   *
   * @param payload any bytes, at most 1 MiB
   * @return the same bytes, back from the server
   */
  public ByteString echo(ByteString payload) {
    EchoRequest request = EchoRequest.newBuilder().setPayload(payload).build();
    return call(DiagnosticsServiceGrpc.getEchoMethod(), request).getPayload();
  }

  /**
   * What the server runs and what it accepts.
   *
   * @return version, embedder, engines and limits
   */
  public GetServerInfoResponse serverInfo() {
    return call(
        DiagnosticsServiceGrpc.getGetServerInfoMethod(), GetServerInfoRequest.getDefaultInstance());
  }
}
