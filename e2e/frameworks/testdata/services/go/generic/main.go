// Typed functions behind one generic handler, which a middleware wraps.
package main

import (
	"context"
	"encoding/json"
	"net/http"

	"example.com/services/generic/calc"
	"example.com/services/start"
)

type (
	Empty struct{}
	Out   struct{ Sum float64 }
)

// Handle makes a handler of a typed function.
func Handle[In, O any](fn func(context.Context, In) (O, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		var in In
		json.NewDecoder(r.Body).Decode(&in)
		out, err := fn(r.Context(), in)
		if err != nil {
			http.Error(w, err.Error(), 500)
			return
		}
		json.NewEncoder(w).Encode(out)
	}
}

type API struct{ c *calc.Calc }

func (a *API) State(context.Context, Empty) (Out, error) { return Out{1}, nil }
func (a *API) Total(_ context.Context, in map[string]int) (Out, error) {
	return Out{a.c.Total(in["n"])}, nil
}

func main() {
	a := &API{calc.New()}
	mux := http.NewServeMux()
	mux.Handle("GET /v1/state", Handle(a.State))
	mux.Handle("POST /v1/total/{id}", logged(Handle(a.Total)))
	mux.Handle("/ping", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { w.Write([]byte("pong")) }))
	http.Serve(start.Listen(), logged(mux))
}

func logged(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { next.ServeHTTP(w, r) })
}
