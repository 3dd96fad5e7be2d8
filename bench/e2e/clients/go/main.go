// One measurement of Go's net/http: the same job as worker.mjs's, and the same line of JSON.
package main

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

type job struct {
	Origins       []string `json:"origins"`
	CaFile        *string  `json:"caFile"`
	Path          string   `json:"path"`
	Method        string   `json:"method"`
	BodyBytes     int      `json:"bodyBytes"`
	ResponseBytes int64    `json:"responseBytes"`
	Pattern       string   `json:"pattern"`
	InFlight      int      `json:"inFlight"`
	Connections   int      `json:"connections"`
	Warmup        int      `json:"warmup"`
	Requests      int      `json:"requests"`
}

type measurement struct {
	Version           string   `json:"version"`
	RequestsPerSecond float64  `json:"requestsPerSecond"`
	CPUMicros         float64  `json:"cpuMicros"`
	P50Micros         float64  `json:"p50Micros"`
	P99Micros         float64  `json:"p99Micros"`
	AllocatedBytes    *float64 `json:"allocatedBytes"`
	GCMicros          *float64 `json:"gcMicros"`
	ResidentBytes     float64  `json:"residentBytes"`
}

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

type client struct {
	job
	http  http.Client
	body  []byte
	dials atomic.Int64
	turn  atomic.Int64
}

func open(j job) *client {
	c := &client{job: j, body: bytes.Repeat([]byte("a"), j.BodyBytes)}
	dialer := &net.Dialer{}
	transport := &http.Transport{
		Protocols: new(http.Protocols),
		HTTP2:     &http.HTTP2Config{StrictMaxConcurrentRequests: true},
		DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
			c.dials.Add(1)
			return dialer.DialContext(ctx, network, address)
		},
	}
	if j.CaFile != nil {
		pem, err := os.ReadFile(*j.CaFile)
		check(err)
		pool := x509.NewCertPool()
		pool.AppendCertsFromPEM(pem)
		transport.TLSClientConfig = &tls.Config{RootCAs: pool}
		transport.Protocols.SetHTTP2(true)
	} else {
		transport.Protocols.SetUnencryptedHTTP2(true)
	}
	c.http.Transport = transport
	return c
}

func (c *client) ask(origin string) error {
	var body io.Reader
	if c.BodyBytes > 0 {
		body = bytes.NewReader(c.body)
	}
	request, err := http.NewRequest(c.Method, origin+c.Path, body)
	if err != nil {
		return err
	}
	request.Header.Set("Accept", "*/*")
	request.Header.Set("User-Agent", "bench")
	response, err := c.http.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	length, err := io.Copy(io.Discard, response.Body)
	if err == nil && (response.StatusCode != 200 || length != c.ResponseBytes || response.ProtoMajor != 2) {
		err = fmt.Errorf("a wrong response: status %d, %d bytes instead of %d, %s", response.StatusCode, length, c.ResponseBytes, response.Proto)
	}
	return err
}

// burst sends len(took) requests, as many at once as shall be in flight, and puts down how long each took.
func (c *client) burst(took []time.Duration) {
	var next atomic.Int64
	var group sync.WaitGroup
	for range min(c.InFlight, len(took)) {
		group.Go(func() {
			for {
				index := int(next.Add(1)) - 1
				if index >= len(took) {
					return
				}
				origin := c.Origins[int(c.turn.Add(1)-1)%len(c.Origins)]
				began := time.Now()
				check(c.ask(origin))
				took[index] = time.Since(began)
			}
		})
	}
	group.Wait()
}

func (c *client) run(count int) []time.Duration {
	took := make([]time.Duration, count)
	size := count
	if c.Pattern == "rounds" {
		size = c.InFlight
	}
	for rest := took; len(rest) > 0; rest = rest[min(size, len(rest)):] {
		c.burst(rest[:min(size, len(rest))])
	}
	return took
}

func cpuTime() time.Duration {
	var usage syscall.Rusage
	check(syscall.Getrusage(syscall.RUSAGE_SELF, &usage))
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

func residentBytes() float64 {
	text, err := os.ReadFile("/proc/self/statm")
	check(err)
	pages, err := strconv.Atoi(strings.Fields(string(text))[1])
	check(err)
	return float64(pages * os.Getpagesize())
}

func percentile(sorted []time.Duration, share float64) float64 {
	return float64(sorted[int(math.Ceil(share*float64(len(sorted))))-1].Nanoseconds()) / 1000
}

func main() {
	var j job
	check(json.Unmarshal([]byte(os.Args[1]), &j))
	c := open(j)
	// One by one: a burst would dial once for each of its requests.
	for _, origin := range c.Origins {
		check(c.ask(origin))
	}
	c.run(c.Warmup)
	cpuBefore, before := cpuTime(), time.Now()
	took := c.run(c.Requests)
	seconds, cpu := time.Since(before).Seconds(), cpuTime()-cpuBefore
	if int(c.dials.Load()) != c.Connections*len(c.Origins) {
		check(fmt.Errorf("%d connections were opened instead of %d", c.dials.Load(), c.Connections*len(c.Origins)))
	}
	slices.Sort(took)
	check(json.NewEncoder(os.Stdout).Encode(measurement{
		Version:           strings.TrimPrefix(runtime.Version(), "go"),
		RequestsPerSecond: float64(c.Requests) / seconds,
		CPUMicros:         float64(cpu.Nanoseconds()) / 1000 / float64(c.Requests),
		P50Micros:         percentile(took, 0.5),
		P99Micros:         percentile(took, 0.99),
		ResidentBytes:     residentBytes(),
	}))
}
