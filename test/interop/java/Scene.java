import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.util.zip.CRC32;

/** What every server here responds: the same as ../children/scene.mjs and ../xnet-2022/main.go. */
final class Scene {
  private Scene() {}

  static void serve(Exchange exchange) throws IOException {
    String query = exchange.query();
    switch (exchange.path()) {
      // Says that it runs before it does anything, so that a request that runs twice is seen twice, and takes its time.
      case "/take" -> {
        System.out.println("took " + query);
        toSum(exchange.body());
        pause();
        say(exchange, 200, query);
      }
      // As many octets as asked for.
      case "/down" -> exchange.respond(200, toBytes(Integer.parseInt(query)));
      // Reads the body, and says its size and CRC-32.
      case "/up" -> say(exchange, 200, toSum(exchange.body()));
      // Responds before it has read anything.
      case "/early" -> say(exchange, 413, "too much");
      default -> say(exchange, 404, "nothing here");
    }
  }

  /** Tells the port. */
  static void listens(int port) {
    System.out.println("listening " + port);
  }

  private static void say(Exchange exchange, int status, String text) throws IOException {
    exchange.respond(status, text.getBytes(StandardCharsets.UTF_8));
  }

  private static void pause() {
    try {
      Thread.sleep(30);
    } catch (InterruptedException stopped) {
      Thread.currentThread().interrupt();
    }
  }

  private static byte[] toBytes(int size) {
    byte[] bytes = new byte[size];
    for (int at = 0; at < size; at++) bytes[at] = (byte) (at % 251);
    return bytes;
  }

  private static String toSum(InputStream body) throws IOException {
    CRC32 sum = new CRC32();
    byte[] piece = new byte[8192];
    long size = 0;
    for (int read = body.read(piece); read >= 0; read = body.read(piece)) {
      sum.update(piece, 0, read);
      size += read;
    }
    return size + " " + sum.getValue();
  }
}
