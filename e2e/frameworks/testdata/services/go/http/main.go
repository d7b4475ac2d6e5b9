// The shop, on net/http's mux: a middleware around all, a method value and a
// handler in another package.
package main

import (
	"fmt"
	"net/http"
	"sync/atomic"

	"example.com/services/http/orders"
	"example.com/services/start"
)

var served atomic.Int64

func counted(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		served.Add(1)
		next.ServeHTTP(w, r)
	})
}

func main() {
	shop := orders.New()
	mux := http.NewServeMux()
	mux.HandleFunc("POST /orders/{id}/price", shop.Price)
	mux.HandleFunc("GET /orders/{id}", shop.Get)
	mux.HandleFunc("GET /health", func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, "served %d", served.Load())
	})
	http.Serve(start.Listen(), counted(mux))
}
