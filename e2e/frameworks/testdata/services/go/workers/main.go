// Requests hand their work to a pool of goroutines by a channel: whose it is no stack says.
package main

import (
	"crypto/sha256"
	"fmt"
	"net/http"

	"example.com/services/start"
)

type job struct {
	n    int
	done chan [32]byte
}

func worker(jobs chan job) {
	for j := range jobs {
		j.done <- hash(j.n)
	}
}

func hash(n int) (sum [32]byte) {
	for range n {
		sum = sha256.Sum256(sum[:]) // planted
	}
	return sum
}

func main() {
	jobs := make(chan job, 16)
	for range 2 {
		go worker(jobs)
	}
	rounds := start.Planted(25_000)
	mux := http.NewServeMux()
	mux.HandleFunc("POST /hashes", func(w http.ResponseWriter, r *http.Request) {
		j := job{rounds, make(chan [32]byte)}
		jobs <- j
		fmt.Fprintf(w, "%x", <-j.done)
	})
	mux.HandleFunc("GET /hashes/{id}", func(w http.ResponseWriter, r *http.Request) { fmt.Fprintln(w, r.PathValue("id")) })
	mux.HandleFunc("GET /", func(w http.ResponseWriter, r *http.Request) { fmt.Fprintln(w, "hashes") })
	http.Serve(start.Listen(), mux)
}
