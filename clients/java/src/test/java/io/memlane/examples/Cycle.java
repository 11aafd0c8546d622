package io.memlane.examples;

import io.memlane.client.MemlaneClient;
import io.memlane.client.MemlaneException;
import io.memlane.client.Tls;
import io.memlane.client.Values;
import io.memlane.v1.BuildContextRequest;
import io.memlane.v1.BuildContextResponse;
import io.memlane.v1.ErasureReceipt;
import io.memlane.v1.ForgetUserResponse;
import io.memlane.v1.Memory;
import io.memlane.v1.MemoryRevision;
import io.memlane.v1.Message;
import io.memlane.v1.RememberOperation;
import io.memlane.v1.RememberResponse;
import io.memlane.v1.Role;
import io.memlane.v1.ScoredMemory;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Instant;
import java.time.ZoneId;
import java.util.List;
import java.util.UUID;

/**
 * The life of what is known about two customers, one who speaks Chinese and one who speaks English:
 * it is learned from what they say, kept true, used, and forgotten with proof. Start a server first
 * ({@code memlane serve}), then:
 *
 * <pre>
 * mvn -q test-compile exec:java -Dexec.args=127.0.0.1:7070
 * </pre>
 *
 * <p>With {@code MEMLANE_CA} (a file) and {@code MEMLANE_TOKEN} in the environment it speaks TLS
 * and shows the token.
 */
public final class Cycle {
  private final MemlaneClient client;
  private final PrintStream out;

  /** What one customer says. */
  private record Customer(
      String name,
      ZoneId zone,
      String introduction,
      String answer,
      String correction,
      String question,
      String erasure) {}

  private static final List<Customer> CUSTOMERS =
      List.of(
          new Customer(
              "林知夏",
              ZoneId.of("Asia/Shanghai"),
              "我们公司主要出口传感器到德国。以后有汇率报价请发邮件给我，不要打电话。我有两个孩子。",
              "好的，已记下您的偏好。",
              "顺便说一下，我现在有三个孩子了。",
              "我有几个孩子？",
              "客户要求删除"),
          new Customer(
              "Emma Clarke",
              ZoneId.of("Europe/London"),
              "We import flour from Canada. I prefer email over phone calls. I have two children.",
              "Noted, thank you.",
              "By the way, I have three children now.",
              "How many children do I have?",
              "asked for by the customer"));

  private Cycle(MemlaneClient client, PrintStream out) {
    this.client = client;
    this.out = out;
  }

  /**
   * Runs the example.
   *
   * @param arguments host:port of a server; nothing = this machine
   */
  public static void main(String[] arguments) {
    String target = arguments.length > 0 ? arguments[0] : MemlaneClient.DEFAULT_TARGET;
    MemlaneClient.Builder builder = MemlaneClient.builder(target);
    String authority = System.getenv("MEMLANE_CA");
    if (authority != null) {
      builder.tls(Tls.DEFAULT.trust(Path.of(authority)));
    }
    String token = System.getenv("MEMLANE_TOKEN");
    if (token != null) {
      builder.token(token);
    }
    try (MemlaneClient client = builder.build()) {
      run(client, new PrintStream(System.out, true, StandardCharsets.UTF_8));
    }
  }

  /**
   * Runs the example.
   *
   * @param client may do everything
   * @param out where it tells what it does
   */
  public static void run(MemlaneClient client, PrintStream out) {
    Cycle cycle = new Cycle(client, out);
    CUSTOMERS.forEach(cycle::serve);
  }

  private void serve(Customer customer) {
    String userId = customer.name() + "-" + UUID.randomUUID().toString().substring(0, 8);
    out.printf("%n== %s%n", userId);
    learn(userId, said(customer, customer.introduction()), Values.assistant(customer.answer()));
    Memory children = best(userId, customer.question());
    out.printf("found    %s%n", children.getContent());

    learn(userId, said(customer, customer.correction()));
    Memory corrected = best(userId, customer.question());
    out.printf("found    %s%n", corrected.getContent());
    tellHistory(userId, corrected);
    lose(children);
    ask(userId, customer.question());
    forget(userId, customer.erasure());
  }

  private static Message said(Customer customer, String text) {
    return Values.message(Role.ROLE_USER, text, Instant.now(), customer.zone());
  }

  private void learn(String userId, Message... conversation) {
    RememberResponse learned = client.memories().remember(userId, conversation);
    for (RememberOperation operation : learned.getOperationsList()) {
      String action = operation.getAction().name().substring("ACTION_".length());
      out.printf(
          "%-8s %s (%s)%n", action, operation.getMemory().getContent(), operation.getReason());
    }
  }

  private Memory best(String userId, String question) {
    List<ScoredMemory> found = client.memories().search(userId, question).getResultsList();
    return found.get(0).getMemory();
  }

  private void tellHistory(String userId, Memory memory) {
    for (MemoryRevision step : client.memories().listAllRevisions(userId, memory.getMemoryId())) {
      out.printf("history  %d %s %s%n", step.getRevision(), step.getAction(), step.getContent());
    }
  }

  /** Changes a memory on grounds of what was read before the correction. */
  private void lose(Memory outdated) {
    try {
      client.memories().update(outdated, outdated.getContent() + "!");
    } catch (MemlaneException.RevisionMismatch faster) {
      out.printf("refused  the current revision is %d%n", faster.currentRevision().orElseThrow());
    }
  }

  private void ask(String userId, String question) {
    BuildContextRequest request =
        BuildContextRequest.newBuilder()
            .setUserId(userId)
            .setQuery(question)
            .setBudgetTokens(1000)
            .build();
    BuildContextResponse context = client.contexts().build(request);
    out.printf("prompt   %d tokens%n%s%n", context.getTotalTokens(), context.getSystemPrompt());
  }

  private void forget(String userId, String reason) {
    ForgetUserResponse forgotten = client.compliance().forgetUser(userId, "example", reason);
    ErasureReceipt receipt = forgotten.getReceipt();
    out.printf(
        "forgot   %d memories, receipt %s%n", forgotten.getMemoryCount(), receipt.getReceiptId());
    boolean valid = client.compliance().verifyAuditLog(receipt).getValid();
    out.printf("audit    %s%n", valid ? "valid, and holds the receipt" : "BROKEN");
  }
}
