// A server of Go's net/http for the tests of restarts, over TLS, as Go's older versions have no h2c.
//
// It responds to each request with its method and path in `x-echo`, and without a body: killed between header and body, it would
// leave half a response, after which nothing may be repeated. It writes down each request that it takes up, before it responds: `connection
// method path status`, a line each, in one write, so that nothing is lost when it is killed. A path that ends in `/held` is
// taken up without a response. SIGTERM ends it gracefully.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"log"
	"math/rand"
	"net"
	"net/http"
	"os"
	"os/signal"
	"strings"
	"sync/atomic"
	"syscall"
	"time"
)

type connectionKey struct{}

// connection is what the server knows of one client's connection.
type connection struct {
	name     string
	requests atomic.Int32
}

func main() {
	certificate := flag.String("certificate", "", "PEM file")
	key := flag.String("key", "", "PEM file")
	retireAfter := flag.Int("retire-after", 0, "retire a connection after so many requests; 0: never")
	flag.Parse()

	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		log.Fatal(err)
	}
	server := &http.Server{
		Handler: serve(int32(*retireAfter)),
		ConnContext: func(ctx context.Context, conn net.Conn) context.Context {
			return context.WithValue(ctx, connectionKey{}, &connection{name: conn.RemoteAddr().String()})
		},
		// A client that goes away is nothing to complain of.
		ErrorLog: log.New(io.Discard, "", 0),
	}
	ended := make(chan error, 1)
	go func() {
		terminated := make(chan os.Signal, 1)
		signal.Notify(terminated, syscall.SIGTERM)
		<-terminated
		ended <- server.Shutdown(context.Background())
	}()
	fmt.Printf("listening %d\n", listener.Addr().(*net.TCPAddr).Port)
	if err := server.ServeTLS(listener, *certificate, *key); err != http.ErrServerClosed {
		log.Fatal(err)
	}
	if err := <-ended; err != nil {
		log.Fatal(err)
	}
}

func serve(retireAfter int32) http.HandlerFunc {
	return func(response http.ResponseWriter, request *http.Request) {
		if _, err := io.Copy(io.Discard, request.Body); err != nil {
			return
		}
		from := request.Context().Value(connectionKey{}).(*connection)
		fmt.Printf("%s %s %s 200\n", from.name, request.Method, request.URL.Path)
		if strings.HasSuffix(request.URL.Path, "/held") {
			<-request.Context().Done()
			return
		}
		// Work of uneven length, so that at any time some of it is under way.
		time.Sleep(time.Duration(rand.Intn(5_000)) * time.Microsecond)
		if retireAfter > 0 && from.requests.Add(1) >= retireAfter {
			// What retires an HTTP/1.1 connection makes Go send GOAWAY on this one.
			response.Header().Set("Connection", "close")
		}
		response.Header().Set("X-Echo", request.Method+" "+request.URL.Path)
	}
}
