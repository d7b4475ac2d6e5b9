// One function makes two handlers, the dear one second; others are made in a loop.
package main

import (
	"fmt"
	"net/http"

	"example.com/services/start"
)

func spend(n int) (sum int) {
	for i := range n {
		sum += i ^ sum<<1 // planted
	}
	return sum
}

func handlers(n int) (cheap, dear http.HandlerFunc) {
	return func(w http.ResponseWriter, r *http.Request) { fmt.Fprintln(w, "cheap") },
		func(w http.ResponseWriter, r *http.Request) { fmt.Fprintln(w, spend(n)) }
}

func main() {
	cheap, dear := handlers(start.Planted(8_000_000))
	mux := http.NewServeMux()
	mux.HandleFunc("GET /dear", dear)
	mux.HandleFunc("GET /cheap", cheap)
	for path, n := range map[string]int{"/one": 1, "/two": 2} {
		mux.HandleFunc("GET "+path, func(w http.ResponseWriter, r *http.Request) { fmt.Fprintln(w, n) })
	}
	http.Serve(start.Listen(), mux)
}
