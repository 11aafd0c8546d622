package io.memlane.client;

import java.util.Arrays;
import java.util.Locale;
import java.util.regex.Pattern;

/** What a target says about where the connection goes. */
final class Targets {
  private static final Pattern LOOPBACK_V4 = Pattern.compile("127(\\.\\d{1,3}){3}");

  private Targets() {}

  /** Whether a target is this machine itself: a Unix socket, localhost or a loopback address. */
  static boolean isLoopback(String target) {
    int colon = target.indexOf(':');
    String scheme = colon < 0 ? "" : target.substring(0, colon).toLowerCase(Locale.ROOT);
    String rest = target.substring(colon + 1);
    return switch (scheme) {
      case "unix", "unix-abstract" -> true;
      case "dns" -> isLoopbackHost(host(rest.substring(rest.lastIndexOf('/') + 1)));
      case "ipv4", "ipv6" ->
          Arrays.stream(rest.split(",")).allMatch(one -> isLoopbackHost(host(one)));
      default -> isLoopbackHost(host(target));
    };
  }

  private static boolean isLoopbackHost(String host) {
    // Names are compared, never looked up: what a resolver answers today decides nothing about
    // encryption.
    return host.equalsIgnoreCase("localhost")
        || host.equals("::1")
        || host.equals("0:0:0:0:0:0:0:1")
        || LOOPBACK_V4.matcher(host).matches();
  }

  private static String host(String address) {
    if (address.startsWith("[")) {
      int end = address.indexOf(']');
      return end < 0 ? address : address.substring(1, end);
    }
    int colon = address.indexOf(':');
    // More than one colon and no brackets: a bare IPv6 address without a port.
    return colon < 0 || colon != address.lastIndexOf(':') ? address : address.substring(0, colon);
  }
}
