package io.memlane.client;

import io.grpc.CallOptions;
import io.grpc.Channel;

/** The calls of the contract, service by service. */
public abstract sealed class Services permits MemlaneClient, CausalScope {
  private final Channel channel;
  private final Memories memories;
  private final Sessions sessions;
  private final Contexts contexts;
  private final KnowledgeBase knowledge;
  private final Rules rules;
  private final Compliance compliance;
  private final Diagnostics diagnostics;

  Services(Channel channel, CallOptions options) {
    this.channel = channel;
    memories = new Memories(channel, options);
    sessions = new Sessions(channel, options);
    contexts = new Contexts(channel, options);
    knowledge = new KnowledgeBase(channel, options);
    rules = new Rules(channel, options);
    compliance = new Compliance(channel, options);
    diagnostics = new Diagnostics(channel, options);
  }

  /**
   * What is known about one user: MemoryService.
   *
   * @return always the same object
   */
  public Memories memories() {
    return memories;
  }

  /**
   * The last rounds of conversations: SessionService.
   *
   * @return always the same object
   */
  public Sessions sessions() {
    return sessions;
  }

  /**
   * The context of a prompt, and whole turns of an assistant: ContextService.
   *
   * @return always the same object
   */
  public Contexts contexts() {
    return contexts;
  }

  /**
   * What holds for everyone of the tenant: KnowledgeService.
   *
   * @return always the same object
   */
  public KnowledgeBase knowledge() {
    return knowledge;
  }

  /**
   * How the assistant should act: RuleService.
   *
   * @return always the same object
   */
  public Rules rules() {
    return rules;
  }

  /**
   * Erasure with proof, export, legal hold and the audit log: ComplianceService.
   *
   * @return always the same object
   */
  public Compliance compliance() {
    return compliance;
  }

  /**
   * Is the server there, and what is it made of: DiagnosticsService.
   *
   * @return always the same object
   */
  public Diagnostics diagnostics() {
    return diagnostics;
  }

  /**
   * The connection, for generated stubs: {@code MemoryServiceGrpc.newFutureStub(client.channel())}.
   * Calls of such stubs have deadlines, credentials, request ids, tries and freshness like any
   * other; what they fail with becomes a typed error by {@link MemlaneException#of}.
   *
   * @return always the same object
   */
  public Channel channel() {
    return channel;
  }
}
