// A server of Go's net/http whose responses have random field lists, for the tests of HPACK: interim responses, the final one
// and its trailers. Over TLS, as Go's older versions have no h2c. The same requests get the same lists.
package main

import (
	"flag"
	"fmt"
	"hash/fnv"
	"io"
	"log"
	"math/rand"
	"net"
	"net/http"
	"path/filepath"
	"strings"
)

var commonNames = []string{
	"cache-control", "content-type", "etag", "server", "vary", "last-modified", "set-cookie", "x-request-id", "x-a",
	"location", "accept-ranges", "content-language", "via", "age", "cookie",
}

func main() {
	folder := flag.String("folder", "", "of key.pem and certificate.pem")
	port := flag.Int("port", 0, "on 127.0.0.1")
	interim := flag.Int("interim", 0, "interim responses before each final one")
	flag.Parse()

	listener, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", *port))
	if err != nil {
		log.Fatal(err)
	}
	server := &http.Server{
		Handler: respond(*interim),
		// A client that goes away is nothing to complain of.
		ErrorLog: log.New(io.Discard, "", 0),
	}
	fmt.Println("listening")
	err = server.ServeTLS(listener, filepath.Join(*folder, "certificate.pem"), filepath.Join(*folder, "key.pem"))
	log.Fatal(err)
}

func respond(interim int) http.HandlerFunc {
	return func(response http.ResponseWriter, request *http.Request) {
		hash := fnv.New64a()
		io.WriteString(hash, request.URL.Path)
		random := rand.New(rand.NewSource(int64(hash.Sum64())))
		header := response.Header()
		for count := 0; count < interim; count++ {
			fill(header, "", random)
			response.WriteHeader(http.StatusEarlyHints)
		}
		fill(header, "", random)
		response.WriteHeader(http.StatusOK)
		clear(header)
		fill(header, http.TrailerPrefix, random)
		header[http.TrailerPrefix+"x-last"] = []string{"1"}
	}
}

// fill puts random fields into a header, in place of those that it has.
func fill(header http.Header, prefix string, random *rand.Rand) {
	clear(header)
	for count := random.Intn(9); count > 0; count-- {
		name := commonNames[random.Intn(len(commonNames))]
		if random.Intn(4) == 0 {
			name = "x-" + text(random, 1+random.Intn(40), "abcdefghijklmnopqrstuvwxyz0123456789-_")
		}
		header[prefix+name] = append(header[prefix+name], value(random))
	}
}

func value(random *rand.Rand) string {
	length := random.Intn(30)
	if random.Intn(16) == 0 {
		length = random.Intn(400)
	}
	switch random.Intn(8) {
	case 0, 1, 2:
		return text(random, 1, "abcdefgh")
	case 3:
		return text(random, length, "0123456789")
	case 4:
		octets := make([]byte, length)
		for at := range octets {
			octets[at] = byte(0x80 + random.Intn(0x80))
		}
		return string(octets)
	default:
		return strings.TrimSpace(text(random, length, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789 !\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~"))
	}
}

func text(random *rand.Rand, length int, alphabet string) string {
	octets := make([]byte, length)
	for at := range octets {
		octets[at] = alphabet[random.Intn(len(alphabet))]
	}
	return string(octets)
}
