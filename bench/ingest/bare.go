package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strconv"
	"sync"
	"time"
)

// bareRole makes this binary a handler that reads the body and responds as many
// bytes as the service does, and keeps nothing: what net/http alone costs.
const bareRole = "as-bare"

const bareResponse = `{"v":1,"success":true,"status":"accepted","durability":"none","position":"0/0","messageId":"00000000-0000-0000-0000-000000000000","requestId":"0000000000000000"}` + "\n"

func serveBare() int {
	l, err := new(net.ListenConfig).Listen(context.Background(), "tcp", "127.0.0.1:0")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 3
	}
	fmt.Printf("listening public=%s\n", l.Addr())
	bodies := sync.Pool{New: func() any { b := make([]byte, 64<<10); return &b }}
	response, length, kind := []byte(bareResponse), []string{strconv.Itoa(len(bareResponse))}, []string{"application/json"}
	server := http.Server{
		ReadHeaderTimeout: 10 * time.Second, ReadTimeout: 40 * time.Second, WriteTimeout: 80 * time.Second, IdleTimeout: 2 * time.Minute,
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			body := bodies.Get().(*[]byte)
			defer bodies.Put(body)
			if n := r.ContentLength; n < 0 || n > int64(len(*body)) {
				w.WriteHeader(http.StatusRequestEntityTooLarge)
				return
			} else if _, err := io.ReadFull(r.Body, (*body)[:n]); err != nil {
				w.WriteHeader(http.StatusBadRequest)
				return
			}
			w.Header()["Content-Type"], w.Header()["Content-Length"] = kind, length
			_, _ = w.Write(response) // the client is gone: it counts it as failed
		}),
	}
	fmt.Fprintln(os.Stderr, server.Serve(l))
	return 3
}
