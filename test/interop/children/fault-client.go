// Sends requests over HTTP/2 with Go's net/http: `client CA-FILE ORIGIN LIMIT PAUSE 'GET /a' …`. Prints the outcomes as JSON.
package main

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"io"
	"log"
	"net/http"
	"os"
	"strconv"
	"strings"
	"time"
)

type outcome struct {
	Status int    `json:"status"`
	Text   string `json:"text"`
	Error  string `json:"error"`
	// Milliseconds.
	Elapsed float64 `json:"elapsed"`
}

func ask(client *http.Client, origin string, what string) outcome {
	method, path, _ := strings.Cut(what, " ")
	var body io.Reader
	if method == "POST" {
		body = strings.NewReader("body")
	}
	request, err := http.NewRequest(method, origin+path, body)
	if err != nil {
		return outcome{Error: err.Error()}
	}
	response, err := client.Do(request)
	if err != nil {
		return outcome{Error: err.Error()}
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		return outcome{Status: response.StatusCode, Text: string(text), Error: err.Error()}
	}
	return outcome{Status: response.StatusCode, Text: string(text)}
}

func main() {
	// It says each frame that it does not know.
	log.SetOutput(io.Discard)
	roots := x509.NewCertPool()
	if ca, err := os.ReadFile(os.Args[1]); err == nil {
		roots.AppendCertsFromPEM(ca)
	}
	limit, _ := strconv.Atoi(os.Args[3])
	pause, _ := strconv.Atoi(os.Args[4])
	quarter := time.Duration(limit) * time.Millisecond / 4
	client := &http.Client{Timeout: 4 * quarter, Transport: &http.Transport{
		HTTP2:             &http.HTTP2Config{SendPingTimeout: quarter, PingTimeout: quarter},
		ForceAttemptHTTP2: true,
		TLSClientConfig:   &tls.Config{RootCAs: roots},
	}}
	var outcomes []outcome
	for _, what := range os.Args[5:] {
		if len(outcomes) > 0 {
			time.Sleep(time.Duration(pause) * time.Millisecond)
		}
		begun := time.Now()
		outcome := ask(client, os.Args[2], what)
		outcome.Elapsed = float64(time.Since(begun).Microseconds()) / 1000
		outcomes = append(outcomes, outcome)
	}
	json.NewEncoder(os.Stdout).Encode(outcomes)
}
