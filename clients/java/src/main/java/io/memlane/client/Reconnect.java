package io.memlane.client;

import io.grpc.ConnectivityState;
import io.grpc.ManagedChannel;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;

/**
 * Finds a server that comes back within two seconds. gRPC itself waits up to two minutes between
 * two attempts and has no setting for it, so its wait is cut short from here.
 */
final class Reconnect {
  private static final long FIRST_PAUSE_MS = 100;
  private static final long MAX_PAUSE_MS = 2_000;

  private final ManagedChannel channel;
  private final AtomicBoolean trying = new AtomicBoolean();

  private Reconnect(ManagedChannel channel) {
    this.channel = channel;
  }

  /**
   * From now on until the channel is shut down. Takes a timer only while there is no connection.
   */
  static void watch(ManagedChannel channel) {
    new Reconnect(channel).changed();
  }

  private void changed() {
    ConnectivityState state = channel.getState(false);
    if (state == ConnectivityState.SHUTDOWN) {
      return;
    }
    tryWhileFailing();
    channel.notifyWhenStateChanged(state, this::changed);
  }

  private void tryWhileFailing() {
    if (failing() && trying.compareAndSet(false, true)) {
      tryLater(FIRST_PAUSE_MS);
    }
  }

  private void tryLater(long pauseMs) {
    Executor later = CompletableFuture.delayedExecutor(pauseMs, TimeUnit.MILLISECONDS);
    later.execute(
        () -> {
          // The state stays at TRANSIENT_FAILURE through any number of failed attempts.
          if (failing()) {
            channel.resetConnectBackoff();
            tryLater(Math.min(2 * pauseMs, MAX_PAUSE_MS));
          } else {
            trying.set(false);
            tryWhileFailing();
          }
        });
  }

  private boolean failing() {
    return channel.getState(false) == ConnectivityState.TRANSIENT_FAILURE;
  }
}
