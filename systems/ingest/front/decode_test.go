package front

import (
	"errors"
	"math/rand/v2"
	"testing"
)

func TestGunzipIsBounded(t *testing.T) {
	noise := make([]byte, 100_000)
	_, _ = rand.NewChaCha8([32]byte{2}).Read(noise)
	for name, c := range map[string]struct {
		text []byte
		most int
		want error
	}{
		"just as large as may be":   {noise, 100_000, nil},
		"one byte more than may be": {noise, 99_999, errTooLarge},
		"a bomb":                    {make([]byte, 3<<20), 1 << 20, errTooLarge},
	} {
		if _, err := gunzip(nil, []byte(gzipOf(string(c.text))), c.most); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", name, err, c.want)
		}
	}
}
