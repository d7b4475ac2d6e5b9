// A server as many write it: routes.go, and handlers that are made by functions.
package main

import (
	"net/http"

	"example.com/services/start"
)

func main() {
	s := &server{mux: http.NewServeMux(), store: newStore()}
	s.routes()
	http.Serve(start.Listen(), s)
}
