import io.helidon.http.Status;
import io.helidon.webserver.WebServer;
import io.helidon.webserver.http.ServerRequest;
import io.helidon.webserver.http.ServerResponse;
import java.io.InputStream;

/** Helidon on virtual threads. A request for /move starts another server, on another port, and then stops this one. */
final class HelidonServer {
  public static void main(String[] args) {
    start();
  }

  private static WebServer start() {
    WebServer[] server = new WebServer[1];
    server[0] =
        WebServer.builder()
            .host("127.0.0.1")
            .port(0)
            .routing(
                routing ->
                    routing.any(
                        "/*",
                        (request, response) -> {
                          if (request.path().path().equals("/move")) {
                            // The thread of a virtual one wouldn't keep the process alive by itself.
                            Thread moving = new Thread(() -> move(server[0]));
                            moving.setDaemon(false);
                            moving.start();
                            response.send("moving");
                          } else Scene.serve(toExchange(request, response));
                        }))
            .build()
            .start();
    Scene.listens(server[0].port());
    return server[0];
  }

  private static void move(WebServer server) {
    start();
    server.stop();
    System.out.println("moved");
  }

  private static Exchange toExchange(ServerRequest request, ServerResponse response) {
    return new Exchange() {
      @Override
      public String path() {
        return request.path().path();
      }

      @Override
      public String query() {
        return request.query().rawValue();
      }

      @Override
      public InputStream body() {
        return request.content().inputStream();
      }

      @Override
      public void respond(int status, byte[] body) {
        response.status(Status.create(status)).send(body);
      }
    };
  }
}
