// The game, on gorilla/mux: a subrouter with a middleware of its own.
package main

import (
	"fmt"
	"net/http"

	"github.com/gorilla/mux"

	"example.com/services/gorilla/scores"
	"example.com/services/start"
)

func main() {
	r := mux.NewRouter()
	r.HandleFunc("/", index)
	api := r.PathPrefix("/api").Subrouter()
	api.Use(authorized)
	scores.Routes(api)
	http.Serve(start.Listen(), r)
}

func index(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, "a game") }

func authorized(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("X-Blocked") != "" {
			w.WriteHeader(http.StatusForbidden)
			return
		}
		next.ServeHTTP(w, r)
	})
}
