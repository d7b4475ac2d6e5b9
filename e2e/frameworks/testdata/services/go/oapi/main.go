package main

import (
	"crypto/sha256"
	"encoding/json"
	"net/http"

	"example.com/services/start"
)

type petStore struct{}

func (p *petStore) FindPets(w http.ResponseWriter, r *http.Request) {
	json.NewEncoder(w).Encode([]int{})
}

func (p *petStore) FindPetByID(w http.ResponseWriter, r *http.Request, id string) {
	json.NewEncoder(w).Encode(map[string]string{"id": id})
}

func (p *petStore) Pedigree(w http.ResponseWriter, r *http.Request, id string) {
	json.NewEncoder(w).Encode(ancestors(id, start.Planted(25_000)))
}

func ancestors(id string, generations int) []byte {
	sum := sha256.Sum256([]byte(id))
	for range generations {
		sum = sha256.Sum256(sum[:]) // planted
	}
	return sum[:4]
}

func main() {
	http.Serve(start.Listen(), HandlerFromMuxWithBaseURL(&petStore{}, http.NewServeMux(), "/api"))
}
