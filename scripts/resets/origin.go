// The origin of `origin.mjs` over Go's net/http and h2c. Its handlers end with their request.
package main

import (
	"fmt"
	"io"
	"log"
	"net/http"
	"os"
	"sync/atomic"
)

var active atomic.Int64

func serve(response http.ResponseWriter, request *http.Request) {
	switch request.URL.Path {
	case "/active":
		fmt.Fprint(response, active.Load())
	case "/hang", "/drip":
		active.Add(1)
		defer active.Add(-1)
		if request.URL.Path == "/drip" {
			io.WriteString(response, "drip")
			response.(http.Flusher).Flush()
		}
		<-request.Context().Done()
	default:
		io.WriteString(response, "ok")
	}
}

func main() {
	var protocols http.Protocols
	protocols.SetUnencryptedHTTP2(true)
	server := &http.Server{
		Addr:      "127.0.0.1:" + os.Args[1],
		Handler:   http.HandlerFunc(serve),
		Protocols: &protocols,
		ErrorLog:  log.New(io.Discard, "", 0),
	}
	log.Fatal(server.ListenAndServe())
}
