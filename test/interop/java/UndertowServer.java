import io.undertow.Undertow;
import io.undertow.UndertowOptions;
import io.undertow.server.HttpServerExchange;
import io.undertow.server.handlers.BlockingHandler;
import java.io.IOException;
import java.io.InputStream;
import java.net.InetSocketAddress;

/** Undertow, as WildFly and JBoss have it: a thread for each request, here 16 of them, as by default on two cores. */
final class UndertowServer {
  public static void main(String[] args) {
    Undertow server =
        Undertow.builder()
            .addHttpListener(0, "127.0.0.1")
            .setServerOption(UndertowOptions.ENABLE_HTTP2, true)
            .setServerOption(UndertowOptions.MAX_ENTITY_SIZE, -1L)
            .setIoThreads(2)
            .setWorkerThreads(16)
            .setHandler(new BlockingHandler(exchange -> Scene.serve(toExchange(exchange))))
            .build();
    server.start();
    Scene.listens(((InetSocketAddress) server.getListenerInfo().get(0).getAddress()).getPort());
  }

  private static Exchange toExchange(HttpServerExchange exchange) {
    return new Exchange() {
      @Override
      public String path() {
        return exchange.getRequestPath();
      }

      @Override
      public String query() {
        return exchange.getQueryString();
      }

      @Override
      public InputStream body() {
        return exchange.getInputStream();
      }

      @Override
      public void respond(int status, byte[] body) throws IOException {
        exchange.setStatusCode(status);
        exchange.getOutputStream().write(body);
        exchange.getOutputStream().close();
      }
    };
  }
}
