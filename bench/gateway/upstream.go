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

// bytesPath is followed by how many bytes a response is to have.
const bytesPath = "/bytes/"

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
			long := lengthOf(buf[:end])
			used = copy(buf, buf[end+4:used])
			if long > 0 {
				if sendBytes(c, long) != nil {
					return
				}
				continue
			}
			if _, err := c.Write(u.response); err != nil {
				return
			}
		}
	}
}

// lengthOf is how many bytes a request asks for; 0: the usual response.
func lengthOf(head []byte) int {
	rest, ok := bytes.CutPrefix(head, []byte("GET "+bytesPath))
	if !ok {
		return 0
	}
	number, _, _ := bytes.Cut(rest, []byte(" "))
	n, _ := strconv.Atoi(string(number)) // what is no number is the usual response
	return n
}

var filler = make([]byte, 256<<10)

func sendBytes(c net.Conn, n int) error {
	if _, err := fmt.Fprintf(c, "HTTP/1.1 200 OK\r\nContent-Type: application/octet-stream\r\nContent-Length: %d\r\n\r\n", n); err != nil {
		return err
	}
	for n > 0 {
		m, err := c.Write(filler[:min(n, len(filler))])
		if err != nil {
			return err
		}
		n -= m
	}
	return nil
}
