// Serves over TLS what takes many frames: `talkative -key FILE -certificate FILE`. Says `listening PORT`.
package main

import (
	"flag"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"strconv"
)

func main() {
	key := flag.String("key", "", "PEM file")
	certificate := flag.String("certificate", "", "PEM file")
	flag.Parse()
	// As many frames of one byte as the query says.
	http.HandleFunc("/drip", func(w http.ResponseWriter, r *http.Request) {
		count, _ := strconv.Atoi(r.URL.RawQuery)
		flusher := w.(http.Flusher)
		for i := 0; i < count; i++ {
			w.Write([]byte("d"))
			flusher.Flush()
		}
	})
	// As many informational responses, and then a final one.
	http.HandleFunc("/hints", func(w http.ResponseWriter, r *http.Request) {
		count, _ := strconv.Atoi(r.URL.RawQuery)
		w.Header().Set("link", "</style.css>; rel=preload")
		for i := 0; i < count; i++ {
			w.WriteHeader(http.StatusEarlyHints)
		}
		w.Write([]byte("hinted"))
	})
	// Reads a byte at a time.
	http.HandleFunc("/sip", func(w http.ResponseWriter, r *http.Request) {
		sum := 0
		for buffer := make([]byte, 1); ; {
			n, err := r.Body.Read(buffer)
			sum += n
			if err == io.EOF {
				break
			}
			if err != nil {
				return
			}
		}
		fmt.Fprint(w, sum)
	})
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("listening %d\n", listener.Addr().(*net.TCPAddr).Port)
	log.Fatal(http.ServeTLS(listener, nil, *certificate, *key))
}
