package main

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"os"
	"strconv"
	"time"
)

// upstreamRole makes this binary the server behind the proxies.
const upstreamRole = "as-upstream"

const answerBody = `{"id":12345,"name":"a small answer","ok":true,"tags":["a","b"]}`

// respond answers whatever comes with one small JSON answer, as cheaply as it
// can, so that the machine is left to the proxies.
func respond() int {
	var lc net.ListenConfig
	l, err := lc.Listen(context.Background(), "tcp", "127.0.0.1:0")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 3
	}
	fmt.Printf("listening public=%s\n", l.Addr())
	answer := []byte("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nDate: " + time.Now().UTC().Format("Mon, 02 Jan 2006 15:04:05 GMT") +
		"\r\nContent-Length: " + strconv.Itoa(len(answerBody)) + "\r\n\r\n" + answerBody)
	for {
		c, err := l.Accept()
		if err != nil {
			return 3
		}
		go func() {
			defer c.Close()
			buf, used := make([]byte, 16<<10), 0
			for {
				n, err := c.Read(buf[used:])
				if err != nil {
					return
				}
				used += n
				end := bytes.Index(buf[:used], []byte("\r\n\r\n"))
				for ; end >= 0; end = bytes.Index(buf[:used], []byte("\r\n\r\n")) {
					used = copy(buf, buf[end+4:used])
					if _, err := c.Write(answer); err != nil {
						return
					}
				}
			}
		}()
	}
}
