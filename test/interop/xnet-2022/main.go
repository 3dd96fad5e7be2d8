// Package main is a server of golang.org/x/net/http2 as it was at the end of 2022: it returns credit for each read of a body,
// however small, on the stream and on the connection. Its responses are those of ../java/Scene.java.
package main

import (
	"fmt"
	"hash/crc32"
	"io"
	"log"
	"net"
	"net/http"
	"strconv"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/h2c"
)

func down(response http.ResponseWriter, request *http.Request) {
	size, _ := strconv.Atoi(request.URL.RawQuery)
	bytes := make([]byte, size)
	for at := range bytes {
		bytes[at] = byte(at % 251)
	}
	response.Write(bytes)
}

// sum reads a body by pieces of least to most octets, and says its size and CRC-32.
func sum(body io.Reader, least, most int) string {
	checksum := crc32.NewIEEE()
	piece := make([]byte, most)
	size := 0
	for length := least; ; length++ {
		if length > most {
			length = least
		}
		read, err := body.Read(piece[:length])
		checksum.Write(piece[:read])
		size += read
		if err != nil {
			return fmt.Sprint(size, " ", checksum.Sum32())
		}
	}
}

func main() {
	mux := http.NewServeMux()
	mux.HandleFunc("/down", down)
	mux.HandleFunc("/up", func(response http.ResponseWriter, request *http.Request) {
		io.WriteString(response, sum(request.Body, 8192, 8192))
	})
	mux.HandleFunc("/sip", func(response http.ResponseWriter, request *http.Request) {
		io.WriteString(response, sum(request.Body, 64, 200))
	})
	mux.HandleFunc("/early", func(response http.ResponseWriter, request *http.Request) {
		response.WriteHeader(http.StatusRequestEntityTooLarge)
		io.WriteString(response, "too much")
	})
	mux.HandleFunc("/take", func(response http.ResponseWriter, request *http.Request) {
		fmt.Println("took " + request.URL.RawQuery)
		sum(request.Body, 8192, 8192)
		time.Sleep(30 * time.Millisecond)
		io.WriteString(response, request.URL.RawQuery)
	})

	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("listening", listener.Addr().(*net.TCPAddr).Port)
	log.Fatal(http.Serve(listener, h2c.NewHandler(mux, &http2.Server{})))
}
