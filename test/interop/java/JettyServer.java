import java.io.IOException;
import java.io.InputStream;
import java.nio.ByteBuffer;
import org.eclipse.jetty.http2.server.HTTP2CServerConnectionFactory;
import org.eclipse.jetty.io.Content;
import org.eclipse.jetty.server.Handler;
import org.eclipse.jetty.server.HttpConfiguration;
import org.eclipse.jetty.server.Request;
import org.eclipse.jetty.server.Response;
import org.eclipse.jetty.server.Server;
import org.eclipse.jetty.server.ServerConnector;
import org.eclipse.jetty.util.Callback;

/** Jetty with its defaults. */
final class JettyServer {
  public static void main(String[] args) throws Exception {
    Server server = new Server();
    ServerConnector connector =
        new ServerConnector(server, new HTTP2CServerConnectionFactory(new HttpConfiguration()));
    connector.setHost("127.0.0.1");
    server.addConnector(connector);
    server.setHandler(
        new Handler.Abstract() {
          @Override
          public boolean handle(Request request, Response response, Callback callback) throws IOException {
            Scene.serve(toExchange(request, response, callback));
            return true;
          }
        });
    server.start();
    Scene.listens(connector.getLocalPort());
  }

  private static Exchange toExchange(Request request, Response response, Callback callback) {
    return new Exchange() {
      @Override
      public String path() {
        return request.getHttpURI().getPath();
      }

      @Override
      public String query() {
        String query = request.getHttpURI().getQuery();
        return query == null ? "" : query;
      }

      @Override
      public InputStream body() {
        return Content.Source.asInputStream(request);
      }

      @Override
      public void respond(int status, byte[] body) {
        response.setStatus(status);
        response.write(true, ByteBuffer.wrap(body), callback);
      }
    };
  }
}
