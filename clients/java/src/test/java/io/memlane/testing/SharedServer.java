package io.memlane.testing;

import io.memlane.client.MemlaneClient;
import io.memlane.client.Tls;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.junit.jupiter.api.extension.ExtensionContext;
import org.junit.jupiter.api.extension.ExtensionContext.Namespace;
import org.junit.jupiter.api.extension.ParameterContext;
import org.junit.jupiter.api.extension.ParameterResolver;

/**
 * The one server of all tests, as a parameter of their constructors and methods. In plain text, or
 * with TLS and tokens where the system property {@code memlane.secure} is true.
 */
public final class SharedServer implements AutoCloseable {
  private static final List<String> SCOPES =
      List.of(
          "admin", "compliance", "knowledge:write", "memory:read", "memory:write", "rules:write");

  private final Path directory;
  private final MemlaneServer server;
  private final boolean secure;
  private final String token;

  private SharedServer() throws IOException {
    directory = Files.createTempDirectory("memlane-java-");
    secure = Boolean.getBoolean("memlane.secure");
    server = MemlaneServer.start(directory, secure ? securitySettings() : Map.of());
    token = secure ? token("tenant-java", SCOPES) : "";
  }

  /** host:port */
  public String address() {
    return server.address();
  }

  /** Of a client that may do everything. */
  public MemlaneClient.Builder builder() {
    return secure ? builderWithoutToken().token(token) : builderWithoutToken();
  }

  /** Of a client that brings no credential. */
  public MemlaneClient.Builder builderWithoutToken() {
    MemlaneClient.Builder builder = MemlaneClient.builder(server.address());
    return secure ? builder.tls(Tls.DEFAULT.trust(directory.resolve("certs/ca.pem"))) : builder;
  }

  /** A client that may do everything; the caller closes it. */
  public MemlaneClient client() {
    return builder().build();
  }

  /** A token of the issuer that the server trusts. */
  public String token(String tenant, List<String> scopes, String... more) throws IOException {
    Stream<String> command =
        Stream.of(
                Stream.of("token", "--tenant", tenant, "--key", path("keys/issuer-key.pem")),
                scopes.stream().flatMap(scope -> Stream.of("--scope", scope)),
                Stream.of(more))
            .flatMap(words -> words);
    return MemlaneServer.run(authSettings(), command.toArray(String[]::new)).strip();
  }

  @Override
  public void close() throws IOException {
    server.close();
    try (Stream<Path> files = Files.walk(directory)) {
      files.sorted(Comparator.reverseOrder()).forEach(file -> file.toFile().delete());
    }
  }

  private Map<String, String> securitySettings() throws IOException {
    MemlaneServer.run(Map.of(), "certs", "--out", path("certs"));
    MemlaneServer.run(Map.of(), "keys", "--out", path("keys"));
    Map<String, String> settings = new HashMap<>(authSettings());
    settings.put("MEMLANE_SERVER__TLS_CERTIFICATE", path("certs/server.pem"));
    settings.put("MEMLANE_SERVER__TLS_KEY", path("certs/server-key.pem"));
    return settings;
  }

  private Map<String, String> authSettings() {
    return Map.of(
        "MEMLANE_AUTH__JWKS_FILE", path("keys/jwks.json"),
        "MEMLANE_AUTH__ISSUER", "java-tests",
        "MEMLANE_AUTH__AUDIENCE", "memlane");
  }

  private String path(String name) {
    return directory.resolve(name).toString();
  }

  /**
   * Starts the server for the first test that asks for it, and ends it after the last test of all.
   */
  public static final class Resolver implements ParameterResolver {
    @Override
    public boolean supportsParameter(ParameterContext parameter, ExtensionContext context) {
      return parameter.getParameter().getType() == SharedServer.class;
    }

    @Override
    public Object resolveParameter(ParameterContext parameter, ExtensionContext context) {
      return context
          .getRoot()
          .getStore(Namespace.GLOBAL)
          .getOrComputeIfAbsent(SharedServer.class, key -> started(), SharedServer.class);
    }

    private static SharedServer started() {
      try {
        return new SharedServer();
      } catch (IOException failure) {
        throw new UncheckedIOException(failure);
      }
    }
  }
}
