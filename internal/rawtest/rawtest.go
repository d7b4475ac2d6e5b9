// Package rawtest has servers that speak to each connection by hand: for tests of what no
// server of HTTP says.
package rawtest

import (
	"net"
	"sync"
	"testing"
)

// Serve gives each connection, with its number from 0 on, to talk, and gives the server's
// URL. At the test's end connections that are open are closed, and waited for.
func Serve(t testing.TB, talk func(c net.Conn, n int)) (url string) {
	t.Helper()
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	var mu sync.Mutex
	open := map[net.Conn]bool{}
	all.Go(func() {
		for n := 0; ; n++ {
			c, err := l.Accept()
			if err != nil {
				return
			}
			mu.Lock()
			open[c] = true
			mu.Unlock()
			all.Go(func() {
				talk(c, n)
				c.Close()
				mu.Lock()
				delete(open, c)
				mu.Unlock()
			})
		}
	})
	t.Cleanup(func() {
		l.Close()
		mu.Lock()
		for c := range open {
			c.Close()
		}
		mu.Unlock()
		all.Wait()
	})
	return "http://" + l.Addr().String()
}
