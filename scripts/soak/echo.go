// An origin: Go's net/http over h2c. `echo.mjs` says what its responses are. Its handlers end with their request.
package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"math/rand"
	"net/http"
	"os"
	"sync"
	"sync/atomic"
)

// As many bytes of a POST's body name it.
const tagLength = 9

var (
	lock  sync.Mutex
	posts = map[string]int{}
	twice = []string{}
	// Requests to /hang and /drip that it works at.
	active atomic.Int64
)

func touch(tag string) {
	lock.Lock()
	defer lock.Unlock()
	posts[tag]++
	// `P`: never to be taken twice.
	if posts[tag] > 1 && tag[0] == 'P' {
		twice = append(twice, tag)
	}
}

// copyOut passes each piece on as it comes.
func copyOut(response http.ResponseWriter, body io.Reader) {
	flusher := response.(http.Flusher)
	flusher.Flush()
	buffer := make([]byte, 16_384)
	for {
		count, err := body.Read(buffer)
		if _, failed := response.Write(buffer[:count]); failed != nil || err != nil {
			return
		}
		flusher.Flush()
	}
}

func serve(response http.ResponseWriter, request *http.Request) {
	switch {
	case request.Method == http.MethodConnect:
		copyOut(response, request.Body)
	case request.URL.Path == "/tally":
		lock.Lock()
		defer lock.Unlock()
		json.NewEncoder(response).Encode(map[string]any{"posts": len(posts), "twice": twice})
	case request.URL.Path == "/active":
		fmt.Fprint(response, active.Load())
	case request.URL.Path == "/hang" || request.URL.Path == "/drip":
		active.Add(1)
		defer active.Add(-1)
		if request.URL.Path == "/drip" {
			io.WriteString(response, "drip")
			response.(http.Flusher).Flush()
		}
		<-request.Context().Done()
	case request.Method == http.MethodPost:
		tag := make([]byte, tagLength)
		if _, err := io.ReadFull(request.Body, tag); err != nil {
			return
		}
		touch(string(tag))
		copyOut(response, io.MultiReader(bytes.NewReader(tag), request.Body))
	default:
		size := 10 + rand.Intn([]int{300, 300, 300, 300, 300, 300, 300, 20_000, 20_000, 200_000}[rand.Intn(10)])
		body := bytes.Repeat([]byte("g"), size)
		copy(body, fmt.Sprintf("%d:", size))
		response.Write(body)
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
