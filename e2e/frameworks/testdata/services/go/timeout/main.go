// Handlers behind http.TimeoutHandler, which calls them in goroutines of their own.
package main

import (
	"fmt"
	"net/http"
	"time"

	"example.com/services/start"
)

type report struct{ n int }

func (h *report) ServeHTTP(w http.ResponseWriter, r *http.Request) { fmt.Fprintln(w, h.build()) }

func (h *report) build() (sum int) {
	for i := range h.n {
		sum += i ^ sum<<1 // planted
	}
	return sum
}

func late(h http.Handler) http.Handler { return http.TimeoutHandler(h, 10*time.Second, "late") }

func main() {
	mux := http.NewServeMux()
	mux.Handle("GET /reports/{id}", late(&report{start.Planted(8_000_000)}))
	mux.Handle("GET /small", late(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { fmt.Fprintln(w, "ok") })))
	http.Serve(start.Listen(), mux)
}
