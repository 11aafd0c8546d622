package io.memlane.testing;

import java.io.BufferedReader;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/** {@code memlane serve} as users run it, on a free port and a data directory of its own. */
public final class MemlaneServer implements AutoCloseable {
  private static final String SERVING = "memlane is serving on ";
  private static final long START_SECONDS = 120;

  /** The root of the repository. */
  public static final Path ROOT = Path.of("../..").toAbsolutePath().normalize();

  private final Process process;
  private final String address;

  private MemlaneServer(Process process, String address) {
    this.process = process;
    this.address = address;
  }

  /**
   * Starts a server and waits until it serves. Nothing of the environment sets it but {@code
   * settings}.
   */
  public static MemlaneServer start(Path directory, Map<String, String> settings)
      throws IOException {
    Path log = directory.resolve("server.log");
    ProcessBuilder builder = command("serve").redirectError(log.toFile());
    builder
        .environment()
        .putAll(
            Map.of(
                "MEMLANE_DATA_DIR", directory.resolve("data").toString(),
                "MEMLANE_SERVER__PORT", "0",
                "MEMLANE_INDEX__BUDGET_MIB", "512"));
    builder.environment().putAll(settings);
    Process process = builder.start();
    CompletableFuture<String> address = CompletableFuture.supplyAsync(() -> addressOf(process));
    try {
      return new MemlaneServer(process, address.get(START_SECONDS, TimeUnit.SECONDS));
    } catch (InterruptedException | ExecutionException | TimeoutException failure) {
      process.destroyForcibly();
      throw new IOException("the server did not start:\n" + Files.readString(log), failure);
    }
  }

  /** Runs another command of memlane and returns what it prints. */
  public static String run(Map<String, String> settings, String... arguments) throws IOException {
    ProcessBuilder builder = command(arguments).redirectError(ProcessBuilder.Redirect.INHERIT);
    builder.environment().putAll(settings);
    Process process = builder.start();
    String output = new String(process.getInputStream().readAllBytes());
    try {
      if (process.waitFor() != 0) {
        throw new IOException("memlane " + List.of(arguments) + " failed: " + output);
      }
    } catch (InterruptedException interrupt) {
      Thread.currentThread().interrupt();
      throw new IOException(interrupt);
    }
    return output;
  }

  /** host:port */
  public String address() {
    return address;
  }

  /** kill -9. */
  @Override
  public void close() {
    process.destroyForcibly().onExit().join();
  }

  private static ProcessBuilder command(String... arguments) {
    List<String> words = new ArrayList<>();
    words.add(ROOT.resolve(".venv/bin/memlane").toString());
    words.addAll(List.of(arguments));
    ProcessBuilder builder = new ProcessBuilder(words);
    builder.environment().keySet().removeIf(name -> name.startsWith("MEMLANE_"));
    return builder;
  }

  private static String addressOf(Process process) {
    BufferedReader output = process.inputReader();
    return output
        .lines()
        .filter(line -> line.startsWith(SERVING))
        .findFirst()
        .map(line -> line.substring(line.lastIndexOf(' ') + 1))
        .orElseThrow(() -> new IllegalStateException("it ended"));
  }
}
