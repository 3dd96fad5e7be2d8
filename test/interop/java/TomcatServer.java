import jakarta.servlet.http.HttpServlet;
import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletResponse;
import java.io.IOException;
import java.io.InputStream;
import java.util.logging.Level;
import java.util.logging.Logger;
import org.apache.catalina.Context;
import org.apache.catalina.connector.Connector;
import org.apache.catalina.startup.Tomcat;
import org.apache.coyote.http2.Http2Protocol;

/** Tomcat with its defaults. Its argument is a folder that it may write to. */
final class TomcatServer {
  public static void main(String[] args) throws Exception {
    Logger.getLogger("org.apache").setLevel(Level.WARNING);
    Tomcat tomcat = new Tomcat();
    tomcat.setBaseDir(args[0]);
    Connector connector = new Connector("HTTP/1.1");
    connector.setPort(0);
    connector.setProperty("address", "127.0.0.1");
    connector.addUpgradeProtocol(new Http2Protocol());
    tomcat.setConnector(connector);
    Context context = tomcat.addContext("", args[0]);
    Tomcat.addServlet(
        context,
        "scene",
        new HttpServlet() {
          @Override
          protected void service(HttpServletRequest request, HttpServletResponse response)
              throws IOException {
            Scene.serve(toExchange(request, response));
          }
        });
    context.addServletMappingDecoded("/*", "scene");
    tomcat.start();
    Scene.listens(connector.getLocalPort());
  }

  private static Exchange toExchange(HttpServletRequest request, HttpServletResponse response) {
    return new Exchange() {
      @Override
      public String path() {
        return request.getRequestURI();
      }

      @Override
      public String query() {
        String query = request.getQueryString();
        return query == null ? "" : query;
      }

      @Override
      public InputStream body() throws IOException {
        return request.getInputStream();
      }

      @Override
      public void respond(int status, byte[] body) throws IOException {
        response.setStatus(status);
        response.getOutputStream().write(body);
      }
    };
  }
}
