package io.memlane.client;

import io.grpc.CallOptions;
import io.grpc.Channel;
import io.memlane.v1.BuildContextRequest;
import io.memlane.v1.BuildContextResponse;
import io.memlane.v1.ChatDone;
import io.memlane.v1.ChatRequest;
import io.memlane.v1.ChatResponse;
import io.memlane.v1.ContextServiceGrpc;
import java.util.function.Consumer;

/** Everything that the assistant should know for its next answer: ContextService. */
public final class Contexts extends Calls<Contexts> {
  Contexts(Channel channel, CallOptions options) {
    super(channel, options);
  }

  @Override
  Contexts with(Channel channel, CallOptions options) {
    return new Contexts(channel, options);
  }

  /**
   * Assembles rules, memories and knowledge for one turn.
   *
   * @param userId whom the assistant talks to
   * @param query what the user asks now
   * @return a context within the server's default budget, without a window
   */
  public BuildContextResponse build(String userId, String query) {
    return build(BuildContextRequest.newBuilder().setUserId(userId).setQuery(query).build());
  }

  /**
   * Assembles rules, memories, knowledge and window for one turn, within a token budget.
   *
   * @param request for whom, about what, and how large
   * @return the context
   */
  public BuildContextResponse build(BuildContextRequest request) {
    return call(ContextServiceGrpc.getBuildContextMethod(), request);
  }

  /**
   * One turn of the assistant, event by event: a context, then any number of deltas, then {@code
   * done}.
   *
   * <pre>{@code
   * try (ResponseStream<ChatResponse> events = client.contexts().chat(request)) {
   *   for (ChatResponse event : events) {
   *     System.out.print(event.getDelta());
   *   }
   * }
   * }</pre>
   *
   * @param request what the user says now, in which session
   * @return the events; close it
   */
  public ResponseStream<ChatResponse> chat(ChatRequest request) {
    return stream(ContextServiceGrpc.getChatMethod(), request, ChatResponse::hasDone);
  }

  /**
   * One turn of the assistant, waiting for its end.
   *
   * @param request what the user says now, in which session
   * @param onDelta gets each further piece of the answer, in this thread
   * @return the whole answer, as appended to the window
   */
  public ChatDone chat(ChatRequest request, Consumer<String> onDelta) {
    ChatDone done = ChatDone.getDefaultInstance();
    try (ResponseStream<ChatResponse> events = chat(request)) {
      for (ChatResponse event : events) {
        if (event.hasDelta()) {
          onDelta.accept(event.getDelta());
        }
        done = event.getDone();
      }
    }
    return done;
  }
}
