// Asks for a URL over HTTP/2 with Go's net/http, and prints the status, the body and the error as JSON.
package main

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"io"
	"net/http"
	"os"
)

type outcome struct {
	Status int    `json:"status"`
	Text   string `json:"text"`
	Error  string `json:"error"`
}

func ask(client *http.Client, url string) outcome {
	response, err := client.Get(url)
	if err != nil {
		return outcome{Error: err.Error()}
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		return outcome{Status: response.StatusCode, Text: string(body), Error: err.Error()}
	}
	return outcome{Status: response.StatusCode, Text: string(body)}
}

func main() {
	roots := x509.NewCertPool()
	if ca, err := os.ReadFile(os.Args[1]); err == nil {
		roots.AppendCertsFromPEM(ca)
	}
	client := &http.Client{Transport: &http.Transport{
		ForceAttemptHTTP2: true,
		TLSClientConfig:   &tls.Config{RootCAs: roots},
	}}
	var outcomes []outcome
	for _, url := range os.Args[2:] {
		outcomes = append(outcomes, ask(client, url))
	}
	json.NewEncoder(os.Stdout).Encode(outcomes)
}
