package main

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"os"
	"strconv"
	"sync/atomic"
	"time"
)

// upstreamRole makes this binary the server behind the proxies.
const upstreamRole = "as-upstream"

const responseBody = `{"id":12345,"name":"a small answer","ok":true,"tags":["a","b"]}`

// servedPath asks an upstream how many requests it has answered.
const servedPath = "/served"

// respond answers whatever comes with one small JSON response, as cheaply as it
// can, so that the machine is left to the proxies.
func respond() int {
	var lc net.ListenConfig
	l, err := lc.Listen(context.Background(), "tcp", "127.0.0.1:0")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 3
	}
	fmt.Printf("listening public=%s\n", l.Addr())
	response := []byte("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nDate: " + time.Now().UTC().Format("Mon, 02 Jan 2006 15:04:05 GMT") +
		"\r\nContent-Length: " + strconv.Itoa(len(responseBody)) + "\r\n\r\n" + responseBody)
	u := responder{response: response}
	for {
		c, err := l.Accept()
		if err != nil {
			return 3
		}
		go u.converse(c)
	}
}

// responder is the server behind the proxies.
type responder struct {
	response []byte
	served   atomic.Int64
}

// converse answers one connection's requests, which have no bodies.
func (u *responder) converse(c net.Conn) {
	defer c.Close()
	buf, used := make([]byte, 16<<10), 0
	for {
		n, err := c.Read(buf[used:])
		if err != nil {
			return
		}
		used += n
		for {
			end := bytes.Index(buf[:used], []byte("\r\n\r\n"))
			if end < 0 {
				break
			}
			if bytes.HasPrefix(buf, []byte("GET "+servedPath+" ")) {
				_, _ = fmt.Fprintf(c, "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n%d", u.served.Load())
				return
			}
			u.served.Add(1)
			used = copy(buf, buf[end+4:used])
			if _, err := c.Write(u.response); err != nil {
				return
			}
		}
	}
}
