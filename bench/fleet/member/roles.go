package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"time"

	nats "github.com/nats-io/nats-server/v2/server"
)

// The processes next to the gateways.
const (
	upstreamRole = "as-upstream"
	natsRole     = "as-nats"
	natsFolder   = "MEMBER_NATS"
)

// respond is the upstream of all gateways.
func respond() int {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"id":12345,"name":"a small answer","ok":true,"tags":["a","b"]}`)
	}))
	fmt.Printf("listening public=%s\n", s.Listener.Addr())
	select {} // until it is killed
}

// serveNATS is the fleet's one server, which syncs each write.
func serveNATS() int {
	s, err := nats.NewServer(&nats.Options{
		ServerName: "bench", Host: "127.0.0.1", Port: nats.RANDOM_PORT, JetStream: true, StoreDir: os.Getenv(natsFolder),
		SyncAlways: true, NoSigs: true, NoLog: true, JetStreamMaxStore: 8 << 30, // and not what the disk has
	})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 3
	}
	s.Start()
	if !s.ReadyForConnections(time.Minute) {
		return 3
	}
	fmt.Printf("listening public=%s\n", s.Addr())
	s.WaitForShutdown()
	return 0
}

// users is how many connections ask at once.
const users = 4

// conn is a user's connection.
type conn struct {
	net.Conn
	in *bufio.Reader
}

func newConn(c net.Conn) *conn { return &conn{c, bufio.NewReader(c)} }

// request is for a path that no route has.
const request = "GET /other HTTP/1.1\r\nHost: bench.example\r\nUser-Agent: bench\r\nAccept: */*\r\n\r\n"

// ask sends so many requests, one after the other.
func (c *conn) ask(n int) error {
	for range n {
		if _, err := io.WriteString(c, request); err != nil {
			return fmt.Errorf("send a request: %w", err)
		}
		a, err := http.ReadResponse(c.in, nil)
		if err != nil {
			return fmt.Errorf("read a response: %w", err)
		}
		_, err = io.Copy(io.Discard, a.Body)
		if err := errors.Join(err, a.Body.Close()); err != nil {
			return fmt.Errorf("read a response: %w", err)
		}
		if a.StatusCode != http.StatusOK {
			return fmt.Errorf("the gateway responds with status %d", a.StatusCode)
		}
	}
	return nil
}
