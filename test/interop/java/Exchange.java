import java.io.IOException;
import java.io.InputStream;

/** One request and its response, in the terms of no server. */
interface Exchange {
  String path();

  /** What follows the question mark; "" without one. */
  String query();

  InputStream body() throws IOException;

  /** Sends the whole response. */
  void respond(int status, byte[] body) throws IOException;
}
