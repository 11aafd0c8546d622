package io.memlane.client;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.memlane.testing.SharedServer;
import io.memlane.testing.Users;
import java.io.IOException;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;

/** On a server with TLS and tokens; all other tests run there a second time, too. */
@Tag("secure")
@ExtendWith(SharedServer.Resolver.class)
class SecureTest {
  private static final List<String> SCOPES = List.of("memory:read", "memory:write");

  private final SharedServer server;
  private final String user = Users.any();

  SecureTest(SharedServer server) {
    this.server = server;
  }

  @Test
  void nobodyIsUnauthenticated() {
    try (MemlaneClient client = server.builderWithoutToken().build()) {
      MemlaneException.Unauthenticated error =
          assertThrows(
              MemlaneException.Unauthenticated.class, () -> client.memories().search(user, "杭州"));
      assertEquals("UNAUTHENTICATED", error.reason());
    }
    try (MemlaneClient client = server.builderWithoutToken().token("not.a.token").build()) {
      MemlaneException.Unauthenticated error =
          assertThrows(
              MemlaneException.Unauthenticated.class, () -> client.memories().search(user, "杭州"));
      assertEquals("TOKEN_INVALID", error.reason());
    }
  }

  @Test
  void aTokenOfOneUserIsForThatUser() throws IOException {
    String token = server.token("tenant-java", SCOPES, "--user", user);
    try (MemlaneClient client = server.client()) {
      Memories own = client.memories().withToken(token);
      own.create(user, "住在杭州");
      assertEquals(1, client.memories().search(user, "杭州").getResultsCount());
      MemlaneException.PermissionDenied error =
          assertThrows(
              MemlaneException.PermissionDenied.class, () -> own.search(Users.any(), "杭州"));
      assertEquals("USER_MISMATCH", error.reason());
    }
  }

  @Test
  void aScopeThatIsMissingIsNamed() throws IOException {
    try (MemlaneClient client =
        server.builderWithoutToken().token(server.token("tenant-java", SCOPES)).build()) {
      MemlaneException.PermissionDenied error =
          assertThrows(
              MemlaneException.PermissionDenied.class,
              () -> client.rules().put(List.of("先确认注册地。")));
      assertEquals("SCOPE_MISSING", error.reason());
      assertEquals("rules:write", error.metadata().get("scope"));
    }
  }

  @Test
  void tenantsAreApart() throws IOException {
    try (MemlaneClient client = server.client();
        MemlaneClient other =
            server.builderWithoutToken().token(server.token("tenant-other", SCOPES)).build()) {
      String id = client.memories().create(user, "住在杭州").getMemory().getMemoryId();
      assertThrows(MemlaneException.NotFound.class, () -> other.memories().get(user, id));
    }
  }

  @Test
  void aServerOfAnotherAuthorityIsNotTrusted() {
    try (MemlaneClient client =
        MemlaneClient.builder(server.address()).tls(Tls.DEFAULT).retry(RetryPolicy.NONE).build()) {
      assertThrows(MemlaneException.Unavailable.class, () -> client.memories().search(user, "杭州"));
    }
    try (MemlaneClient plain =
        MemlaneClient.builder(server.address()).retry(RetryPolicy.NONE).build()) {
      assertThrows(MemlaneException.Unavailable.class, () -> plain.memories().search(user, "杭州"));
    }
  }
}
