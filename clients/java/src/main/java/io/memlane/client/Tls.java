package io.memlane.client;

import io.grpc.ChannelCredentials;
import io.grpc.TlsChannelCredentials;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;

/**
 * Certificates of a connection, as PEM. Immutable: each method returns a new value.
 *
 * <pre>{@code
 * Tls.DEFAULT.trust(Path.of("root.pem")).identity(Path.of("client.pem"), Path.of("client.key"))
 * }</pre>
 */
public final class Tls {
  /** Trusts what the Java runtime trusts, has no client identity. */
  public static final Tls DEFAULT = new Tls(null, null, null, "");

  private final byte[] roots;
  private final byte[] chain;
  private final byte[] key;
  private final String serverName;

  private Tls(byte[] roots, byte[] chain, byte[] key, String serverName) {
    this.roots = roots;
    this.chain = chain;
    this.key = key;
    this.serverName = serverName;
  }

  /**
   * Who may have signed the server's certificate.
   *
   * @param certificates file of PEM certificates
   * @return a new value
   * @throws UncheckedIOException for a file that cannot be read
   */
  public Tls trust(Path certificates) {
    return trust(read(certificates));
  }

  /**
   * Who may have signed the server's certificate.
   *
   * @param certificates PEM certificates
   * @return a new value
   */
  public Tls trust(byte[] certificates) {
    return new Tls(certificates.clone(), chain, key, serverName);
  }

  /**
   * The client's own identity, for mutual TLS.
   *
   * @param chain file of PEM certificates, the client's own first
   * @param key file of the PEM key, PKCS #8 without a password
   * @return a new value
   * @throws UncheckedIOException for a file that cannot be read
   */
  public Tls identity(Path chain, Path key) {
    return identity(read(chain), read(key));
  }

  /**
   * The client's own identity, for mutual TLS.
   *
   * @param chain PEM certificates, the client's own first
   * @param key PEM key, PKCS #8 without a password
   * @return a new value
   */
  public Tls identity(byte[] chain, byte[] key) {
    return new Tls(roots, chain.clone(), key.clone(), serverName);
  }

  /**
   * The name expected in the server's certificate.
   *
   * @param name instead of the host of the target
   * @return a new value
   */
  public Tls serverName(String name) {
    return new Tls(roots, chain, key, name);
  }

  String serverName() {
    return serverName;
  }

  ChannelCredentials credentials() {
    TlsChannelCredentials.Builder builder = TlsChannelCredentials.newBuilder();
    try {
      if (roots != null) {
        builder.trustManager(new ByteArrayInputStream(roots));
      }
      if (chain != null) {
        builder.keyManager(new ByteArrayInputStream(chain), new ByteArrayInputStream(key));
      }
    } catch (
        IOException failure) { // bytes in memory have no failing reads; the interface allows them
      throw new UncheckedIOException(failure);
    }
    return builder.build();
  }

  private static byte[] read(Path path) {
    try {
      return Files.readAllBytes(path);
    } catch (IOException failure) {
      throw new UncheckedIOException(failure);
    }
  }
}
