// Package scores has the game's tables.
package scores

import (
	"fmt"
	"net/http"
	"slices"

	"github.com/gorilla/mux"

	"example.com/services/start"
)

// Routes adds the tables' endpoints to a router.
func Routes(r *mux.Router) {
	r.HandleFunc("/games/{id}/best", best).Methods("GET")
	r.HandleFunc("/games/{id}", one).Methods(http.MethodGet)
}

func one(w http.ResponseWriter, r *http.Request) { fmt.Fprintf(w, "game %s", mux.Vars(r)["id"]) }

func best(w http.ResponseWriter, r *http.Request) {
	all := points(start.Planted(100_000))
	slices.Sort(all) // planted
	fmt.Fprint(w, all[len(all)-1])
}

func points(n int) []uint32 {
	out := make([]uint32, n)
	for i := range out {
		out[i] = uint32(i) * 2654435761
	}
	return out
}
