// A server of grpc-go for the tests of gRPC. Messages are bytes as they are: no code is generated. `grpc-js-server.mjs` is its twin.
package main

import (
	"flag"
	"fmt"
	"log"
	"net"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	// Registers gzip, which it then answers with where a request came with it.
	_ "google.golang.org/grpc/encoding/gzip"
	"google.golang.org/grpc/keepalive"
)

// Larger than any message of the tests. The default is 4 MiB.
const maxMessage = 64 << 20

// raw is the codec of messages that are bytes.
type raw struct{}

func (raw) Marshal(message any) ([]byte, error) { return *message.(*[]byte), nil }

func (raw) Unmarshal(data []byte, message any) error {
	// The data is grpc-go's own, and may be used again by it.
	*message.(*[]byte) = append([]byte(nil), data...)
	return nil
}

func (raw) Name() string { return "raw" }

func main() {
	certificate := flag.String("certificate", "", "PEM file; empty: h2c")
	key := flag.String("key", "", "PEM file")
	port := flag.Int("port", 0, "0: a free one")
	age := flag.Duration("max-connection-age", 0, "retire a connection after so long, with a jitter of a tenth; 0: never")
	grace := flag.Duration("max-connection-age-grace", 0, "how long its calls may take then; 0: for ever")
	minTime := flag.Duration("min-time", 0, "the least time between two PINGs; 0: the default of five minutes")
	flag.Parse()

	listener, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", *port))
	if err != nil {
		log.Fatal(err)
	}
	options := []grpc.ServerOption{
		grpc.ForceServerCodec(raw{}),
		grpc.MaxRecvMsgSize(maxMessage),
		grpc.KeepaliveParams(keepalive.ServerParameters{MaxConnectionAge: *age, MaxConnectionAgeGrace: *grace}),
	}
	if *minTime > time.Duration(0) {
		options = append(options, grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: *minTime}))
	}
	if *certificate != "" {
		tls, err := credentials.NewServerTLSFromFile(*certificate, *key)
		if err != nil {
			log.Fatal(err)
		}
		options = append(options, grpc.Creds(tls))
	}
	server := grpc.NewServer(options...)
	server.RegisterService(&service, nil)
	fmt.Printf("listening %d\n", listener.Addr().(*net.TCPAddr).Port)
	log.Fatal(server.Serve(listener))
}
