// The books, on chi: mounted routers, nested routes, chi's middlewares and one of its own.
package main

import (
	"net/http"

	"github.com/go-chi/chi/v5"
	"github.com/go-chi/chi/v5/middleware"

	"example.com/services/chi/reports"
	"example.com/services/start"
)

func main() {
	books := &reports.Books{}
	r := chi.NewRouter()
	r.Use(middleware.RequestID, middleware.Recoverer)
	r.Route("/v1", func(r chi.Router) {
		r.Use(tagged)
		r.Route("/years/{year}", func(r chi.Router) {
			r.Get("/", books.Year)
			r.With(tagged).Post("/close", books.Close)
		})
	})
	r.Mount("/admin", admin())
	http.Serve(start.Listen(), r)
}

func admin() http.Handler {
	r := chi.NewRouter()
	r.Get("/state", func(w http.ResponseWriter, r *http.Request) { w.Write([]byte("open")) })
	return r
}

func tagged(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Books", "1")
		next.ServeHTTP(w, r)
	})
}
