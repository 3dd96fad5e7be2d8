package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	spb "google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/anypb"
)

var service = grpc.ServiceDesc{
	ServiceName: "dodici.Test",
	HandlerType: (*any)(nil),
	Methods: []grpc.MethodDesc{
		unary("Echo", echo),
		unary("Fail", fail),
		unary("Deadline", deadline),
		unary("Connection", connection),
		unary("Never", never),
		unary("Event", event),
	},
	Streams: []grpc.StreamDesc{
		{StreamName: "Collect", Handler: collect, ClientStreams: true},
		{StreamName: "Expand", Handler: expand, ServerStreams: true},
		{StreamName: "Chat", Handler: chat, ClientStreams: true, ServerStreams: true},
	},
}

func unary(name string, respond func(context.Context, []byte) ([]byte, error)) grpc.MethodDesc {
	handler := func(_ any, ctx context.Context, decode func(any) error, _ grpc.UnaryServerInterceptor) (any, error) {
		var request []byte
		if err := decode(&request); err != nil {
			return nil, err
		}
		response, err := respond(ctx, request)
		return &response, err
	}
	return grpc.MethodDesc{MethodName: name, Handler: handler}
}

// happened knows what became of the calls of Never: `seen` and `ended`, each with the name of one.
var happened sync.Map

type outcome struct {
	known chan struct{}
	text  string
}

func what(event string) *outcome {
	entry, _ := happened.LoadOrStore(event, &outcome{known: make(chan struct{})})
	return entry.(*outcome)
}

// tell is called once for each event.
func tell(event string, text string) {
	entry := what(event)
	entry.text = text
	close(entry.known)
}

// echo gives the message back, `x-initial…` of the metadata before it, and `x-trailing…` after it.
func echo(ctx context.Context, request []byte) ([]byte, error) {
	received, _ := metadata.FromIncomingContext(ctx)
	initial, trailing := metadata.MD{}, metadata.MD{}
	for name, values := range received {
		if strings.HasPrefix(name, "x-initial") {
			initial[name] = values
		} else if strings.HasPrefix(name, "x-trailing") {
			trailing[name] = values
		}
	}
	grpc.SetHeader(ctx, initial)
	grpc.SetTrailer(ctx, trailing)
	return request, nil
}

type failure struct {
	Code    codes.Code
	Message string
	// What the only one of the details holds; empty: there are none.
	Detail string
}

// toError makes the status of a failure.
func (wanted failure) toError() error {
	result := spb.Status{Code: int32(wanted.Code), Message: wanted.Message}
	if wanted.Detail != "" {
		result.Details = []*anypb.Any{{TypeUrl: "dodici.test/detail", Value: []byte(wanted.Detail)}}
	}
	return status.ErrorProto(&result)
}

func fail(_ context.Context, request []byte) ([]byte, error) {
	var wanted failure
	if err := json.Unmarshal(request, &wanted); err != nil {
		return nil, status.Error(codes.InvalidArgument, err.Error())
	}
	return nil, wanted.toError()
}

// deadline says how many milliseconds are left; null: there is no deadline.
func deadline(ctx context.Context, _ []byte) ([]byte, error) {
	end, isSet := ctx.Deadline()
	if !isSet {
		return []byte("null"), nil
	}
	return []byte(fmt.Sprint(time.Until(end).Milliseconds())), nil
}

// connection names the connection.
func connection(ctx context.Context, _ []byte) ([]byte, error) {
	from, _ := peer.FromContext(ctx)
	return []byte(from.Addr.String()), nil
}

// never waits for the end of the call. The message names it.
func never(ctx context.Context, request []byte) ([]byte, error) {
	tell("seen "+string(request), "seen")
	<-ctx.Done()
	err := status.FromContextError(ctx.Err())
	tell("ended "+string(request), err.Code().String())
	return nil, err.Err()
}

// event waits for what the message names, `seen NAME` or `ended NAME`.
func event(ctx context.Context, request []byte) ([]byte, error) {
	entry := what(string(request))
	select {
	case <-entry.known:
		return []byte(entry.text), nil
	case <-ctx.Done():
		return nil, status.FromContextError(ctx.Err()).Err()
	}
}

// collect responds with the number of messages and bytes, in JSON.
func collect(_ any, stream grpc.ServerStream) error {
	count, total := 0, 0
	for {
		var message []byte
		err := stream.RecvMsg(&message)
		if err == io.EOF {
			response := []byte(fmt.Sprintf(`{"Count":%d,"Size":%d}`, count, total))
			return stream.SendMsg(&response)
		}
		if err != nil {
			return err
		}
		count++
		total += len(message)
	}
}

// expand sends so many messages, each a string in JSON of so many bytes, and fails then, if it is to.
func expand(_ any, stream grpc.ServerStream) error {
	var request []byte
	if err := stream.RecvMsg(&request); err != nil {
		return err
	}
	var wanted struct {
		Count, Size int
		Failure     *failure
	}
	if err := json.Unmarshal(request, &wanted); err != nil {
		return status.Error(codes.InvalidArgument, err.Error())
	}
	message := []byte(`"` + strings.Repeat("e", wanted.Size-2) + `"`)
	for sent := 0; sent < wanted.Count; sent++ {
		if err := stream.SendMsg(&message); err != nil {
			return err
		}
	}
	if wanted.Failure == nil {
		return nil
	}
	return wanted.Failure.toError()
}

// chat gives each message back, until the client has ended, or `bye`. With a `x-name` in the metadata, its end is an event.
func chat(_ any, stream grpc.ServerStream) (err error) {
	received, _ := metadata.FromIncomingContext(stream.Context())
	if names := received.Get("x-name"); len(names) == 1 {
		tell("seen "+names[0], "seen")
		defer func() {
			tell("ended "+names[0], status.Code(err).String())
		}()
	}
	for {
		var message []byte
		err = stream.RecvMsg(&message)
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		if err = stream.SendMsg(&message); err != nil {
			return err
		}
		if string(message) == "bye" {
			return nil
		}
	}
}
