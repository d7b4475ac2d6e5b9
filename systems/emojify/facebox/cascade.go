package facebox

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"runtime"

	pigo "github.com/esimov/pigo/core"

	"whittle"
)

// Before it is built, make cascade puts pigo's cascade into this folder, out of
// the module that go.mod pins. The folder always has its .gitignore, so that
// everything builds and is vetted without that step, too.
//
//go:generate make -C ../../.. --no-print-directory cascade
//go:embed all:cascade
var embedded embed.FS

const (
	cascadeName = "facefinder"
	// cascadeSum is the SHA-256 of pigo v1.4.6's cascade: its decoder trusts
	// what it reads.
	cascadeSum = "d8014993e7298c7b1865d1f8b855d6dbf4ec5c808bf879e2091ab6837abf90cd"
)

// cascade returns the decision trees that detect faces: those that were
// built in, or else those in pigo's own source, if this was built on this
// machine and without -trimpath, as go test does.
func cascade() ([]byte, error) {
	b, err := fs.ReadFile(embedded, "cascade/"+cascadeName)
	if err != nil {
		b, err = os.ReadFile(moduleCascade())
	}
	if err != nil {
		return nil, whittle.Errorf(whittle.FailedPrecondition, "face detection was built without its cascade: %w", err).
			WithHint("run make cascade, and build again")
	}
	if sum := sha256.Sum256(b); hex.EncodeToString(sum[:]) != cascadeSum {
		return nil, whittle.Errorf(whittle.FailedPrecondition, "face detection's cascade is not that of pigo v1.4.6").
			WithHint("remove systems/emojify/facebox/cascade/" + cascadeName + ", run make cascade, and build again")
	}
	return b, nil
}

// moduleCascade is where the cascade lies next to the source that was compiled.
func moduleCascade() string {
	entry := reflect.ValueOf(pigo.NewPigo).Pointer()
	source, _ := runtime.FuncForPC(entry).FileLine(entry)
	return filepath.Join(filepath.Dir(source), "..", "cascade", cascadeName)
}
