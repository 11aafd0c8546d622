package io.memlane.client;

import io.grpc.stub.StreamObserver;

/** For servers of tests. */
final class Observers {
  private Observers() {}

  /** Takes requests and does nothing. */
  static <T> StreamObserver<T> ignoring() {
    return new StreamObserver<>() {
      @Override
      public void onNext(T value) {}

      @Override
      public void onError(Throwable failure) {}

      @Override
      public void onCompleted() {}
    };
  }
}
