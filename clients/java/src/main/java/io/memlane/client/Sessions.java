package io.memlane.client;

import io.grpc.CallOptions;
import io.grpc.Channel;
import io.memlane.v1.AppendMessagesRequest;
import io.memlane.v1.AppendMessagesResponse;
import io.memlane.v1.EndSessionRequest;
import io.memlane.v1.EndSessionResponse;
import io.memlane.v1.GetWindowRequest;
import io.memlane.v1.GetWindowResponse;
import io.memlane.v1.Message;
import io.memlane.v1.SessionServiceGrpc;
import java.util.Arrays;

/** Short-term memory, the last rounds of a session word for word: SessionService. */
public final class Sessions extends Calls<Sessions> {
  Sessions(Channel channel, CallOptions options) {
    super(channel, options);
  }

  @Override
  Sessions with(Channel channel, CallOptions options) {
    return new Sessions(channel, options);
  }

  /**
   * Appends to a session; the first append begins it.
   *
   * @param userId whose session
   * @param sessionId which, 1 to 128 bytes
   * @param messages in the order they were said
   * @return how much the session holds now
   */
  public AppendMessagesResponse append(String userId, String sessionId, Message... messages) {
    return append(
        AppendMessagesRequest.newBuilder()
            .setUserId(userId)
            .setSessionId(sessionId)
            .addAllMessages(Arrays.asList(messages))
            .build());
  }

  /**
   * Appends to a session; the first append begins it.
   *
   * @param request all messages or none are appended
   * @return how much the session holds now
   */
  public AppendMessagesResponse append(AppendMessagesRequest request) {
    return call(SessionServiceGrpc.getAppendMessagesMethod(), request);
  }

  /**
   * The last 10 rounds of a session, oldest message first.
   *
   * @param userId whose session
   * @param sessionId which
   * @return empty for a session that never was
   */
  public GetWindowResponse window(String userId, String sessionId) {
    return window(GetWindowRequest.newBuilder().setUserId(userId).setSessionId(sessionId).build());
  }

  /**
   * The last rounds of a session, oldest message first.
   *
   * @param request which session, and how many rounds
   * @return empty for a session that never was
   */
  public GetWindowResponse window(GetWindowRequest request) {
    return call(SessionServiceGrpc.getGetWindowMethod(), request);
  }

  /**
   * Ends a session and learns from what was said in it, once.
   *
   * @param userId whose session
   * @param sessionId which
   * @return what was learned
   */
  public EndSessionResponse end(String userId, String sessionId) {
    return end(EndSessionRequest.newBuilder().setUserId(userId).setSessionId(sessionId).build());
  }

  /**
   * Ends a session and offers what was said in it to be remembered, once.
   *
   * @param request in ASYNC mode {@link Memories#getIngestion(String, String)} tells what came of
   *     it
   * @return what was learned
   */
  public EndSessionResponse end(EndSessionRequest request) {
    return call(SessionServiceGrpc.getEndSessionMethod(), request);
  }
}
