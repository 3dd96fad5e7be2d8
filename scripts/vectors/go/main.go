// Encodes the header lists of standard input with golang.org/x/net/http2/hpack, the encoder of Go's net/http.
package main

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"log"
	"os"

	"golang.org/x/net/http2/hpack"
)

type block struct {
	TableSize *uint32     `json:"header_table_size,omitempty"`
	Wire      string      `json:"wire"`
	Headers   [][2]string `json:"headers"`
}

type story struct {
	Story     string   `json:"story"`
	Sensitive []string `json:"sensitive,omitempty"`
	Cases     []block  `json:"cases"`
}

func main() {
	var stories []story
	if err := json.NewDecoder(os.Stdin).Decode(&stories); err != nil {
		log.Fatal(err)
	}
	for _, story := range stories {
		encode(story)
	}
	encoder := json.NewEncoder(os.Stdout)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(stories); err != nil {
		log.Fatal(err)
	}
}

// encode writes what a connection sends into the cases of its story.
func encode(story story) {
	var wire bytes.Buffer
	encoder := hpack.NewEncoder(&wire)
	for at := range story.Cases {
		block := &story.Cases[at]
		if block.TableSize != nil {
			encoder.SetMaxDynamicTableSizeLimit(*block.TableSize)
			encoder.SetMaxDynamicTableSize(*block.TableSize)
		}
		for _, header := range block.Headers {
			name, value := header[0], latin1(header[1])
			field := hpack.HeaderField{Name: name, Value: value, Sensitive: contains(story.Sensitive, name)}
			if err := encoder.WriteField(field); err != nil {
				log.Fatal(err)
			}
		}
		block.Wire = hex.EncodeToString(wire.Bytes())
		wire.Reset()
	}
}

// latin1 has one octet for each character: JSON has none for octets above 127.
func latin1(text string) string {
	octets := make([]byte, 0, len(text))
	for _, character := range text {
		octets = append(octets, byte(character))
	}
	return string(octets)
}

func contains(names []string, name string) bool {
	for _, each := range names {
		if each == name {
			return true
		}
	}
	return false
}
