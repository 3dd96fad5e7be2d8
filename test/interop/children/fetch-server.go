// A server of Go's net/http over TLS for the tests of fetch, which takes HTTP/1.1 as well: each response says in `x-protocol` what
// was spoken. `fetch-server.mjs` is its twin.
package main

import (
	"bytes"
	"compress/gzip"
	"compress/zlib"
	"context"
	"flag"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

const file = "the content of a file"

var modified = time.Date(2022, 1, 1, 0, 0, 0, 0, time.UTC)
var text = strings.Repeat("compress me, ", 1_000)

type connectionKey struct{}

// connection is what the server knows of one client's connection.
type connection struct {
	name     string
	requests atomic.Int32
}

// happened knows what became of an exchange: `seen`, `release` and `ended`, each with its name.
var happened sync.Map

func what(event string) chan struct{} {
	channel, _ := happened.LoadOrStore(event, make(chan struct{}))
	return channel.(chan struct{})
}

func tell(event string) {
	// Each is told once.
	close(what(event))
}

// hear tells whether it came before the client went away.
func hear(request *http.Request, event string) bool {
	select {
	case <-what(event):
		return true
	case <-request.Context().Done():
		return false
	}
}

func main() {
	certificate := flag.String("certificate", "", "PEM file")
	key := flag.String("key", "", "PEM file")
	flag.Parse()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		log.Fatal(err)
	}
	server := &http.Server{
		Handler: http.HandlerFunc(serve),
		ConnContext: func(ctx context.Context, conn net.Conn) context.Context {
			return context.WithValue(ctx, connectionKey{}, &connection{name: conn.RemoteAddr().String()})
		},
		// A client that goes away is nothing to complain of.
		ErrorLog: log.New(io.Discard, "", 0),
	}
	fmt.Printf("listening %d\n", listener.Addr().(*net.TCPAddr).Port)
	log.Fatal(server.ServeTLS(listener, *certificate, *key))
}

func serve(response http.ResponseWriter, request *http.Request) {
	from := request.Context().Value(connectionKey{}).(*connection)
	isFirst := from.requests.Add(1) == 1
	header := response.Header()
	header.Set("X-Protocol", request.Proto)
	header.Set("X-Connection", from.name)
	switch request.URL.Path {
	case "/file":
		http.ServeContent(response, request, "file.txt", modified, strings.NewReader(file))
	case "/nothing":
		response.WriteHeader(http.StatusNoContent)
	case "/echo":
		echo(response, request)
	case "/cookies":
		for _, cookie := range []string{"a=1; Path=/", "b=2, 3; HttpOnly", "c=4"} {
			header.Add("Set-Cookie", cookie)
		}
		io.WriteString(response, "cookies")
	case "/compressed":
		coding := request.Header.Get("Accept-Encoding")
		header.Set("Content-Encoding", coding)
		response.Write(compress(coding))
	case "/trailers":
		header.Set("Trailer", "X-Sum")
		io.WriteString(response, "with trailers")
		header.Set("X-Sum", "a1b2c3")
	case "/misdirected":
		// A connection that has brought requests before isn't the right one.
		io.Copy(io.Discard, request.Body)
		if !isFirst {
			response.WriteHeader(http.StatusMisdirectedRequest)
		}
		io.WriteString(response, "directed")
	case "/retire":
		// What retires an HTTP/1.1 connection makes Go send GOAWAY on this one.
		header.Set("Connection", "close")
		io.WriteString(response, "retired")
	default:
		serveNamed(response, request)
	}
}

// serveNamed serves what has a name, `/held/1`.
func serveNamed(response http.ResponseWriter, request *http.Request) {
	first, name, _ := strings.Cut(request.URL.Path[1:], "/")
	switch first {
	case "redirect":
		status, _ := strconv.Atoi(name)
		io.Copy(io.Discard, request.Body)
		response.Header().Set("Location", "/echo")
		response.WriteHeader(status)
	case "held", "half", "swallow":
		tell("seen " + name)
		defer tell("ended " + name)
		hold(first, name, response, request)
	case "seen", "begun", "ended":
		if hear(request, first+" "+name) {
			io.WriteString(response, first)
		}
	case "release":
		tell("release " + name)
		io.WriteString(response, "released")
	default:
		response.WriteHeader(http.StatusNotFound)
	}
}

func hold(first string, name string, response http.ResponseWriter, request *http.Request) {
	switch first {
	case "held":
		if hear(request, "release "+name) {
			io.WriteString(response, "released")
		}
	case "half":
		io.WriteString(response, "first ")
		http.NewResponseController(response).Flush()
		if hear(request, "release "+name) {
			io.WriteString(response, "second")
		}
	case "swallow":
		request.Body.Read(make([]byte, 1))
		tell("begun " + name)
		if _, err := io.Copy(io.Discard, request.Body); err == nil {
			io.WriteString(response, "swallowed")
		}
	}
}

// echo sends each piece back as it comes.
func echo(response http.ResponseWriter, request *http.Request) {
	header := response.Header()
	header.Set("X-Method", request.Method)
	header.Set("X-Length", "none")
	if length := request.Header.Get("Content-Length"); length != "" {
		header.Set("X-Length", length)
	}
	header.Set("Content-Type", "none/none")
	if kind := request.Header.Get("Content-Type"); kind != "" {
		header.Set("Content-Type", kind)
	}
	controller := http.NewResponseController(response)
	controller.Flush()
	piece := make([]byte, 65_536)
	for {
		length, err := request.Body.Read(piece)
		if length > 0 {
			response.Write(piece[:length])
			controller.Flush()
		}
		if err != nil {
			return
		}
	}
}

func compress(coding string) []byte {
	var compressed bytes.Buffer
	var writer io.WriteCloser = gzip.NewWriter(&compressed)
	if coding == "deflate" {
		writer = zlib.NewWriter(&compressed)
	}
	io.WriteString(writer, text)
	writer.Close()
	return compressed.Bytes()
}
