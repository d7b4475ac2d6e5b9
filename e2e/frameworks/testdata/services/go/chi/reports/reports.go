// Package reports has what the books say.
package reports

import (
	"crypto/sha256"
	"encoding/hex"
	"io"
	"net/http"

	"github.com/go-chi/chi/v5"

	"example.com/services/start"
)

// Books are a company's.
type Books struct{ closed int }

// Year shows one year.
func (b *Books) Year(w http.ResponseWriter, r *http.Request) {
	io.WriteString(w, "year "+chi.URLParam(r, "year"))
}

// Close seals a year.
func (b *Books) Close(w http.ResponseWriter, r *http.Request) {
	io.WriteString(w, hex.EncodeToString(seal(chi.URLParam(r, "year"))))
}

func seal(year string) []byte {
	sum := sha256.Sum256([]byte(year))
	for range start.Planted(120_000) {
		sum = sha256.Sum256(sum[:]) // planted
	}
	return sum[:]
}
