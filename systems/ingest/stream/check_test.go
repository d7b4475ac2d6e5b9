package stream

import (
	"strings"
	"testing"

	"whittle"
)

func TestCheck(t *testing.T) {
	for name, c := range map[string]struct {
		r  Record
		ok bool
	}{
		"small":           {Record{Value: []byte("v")}, true},
		"too long":        {Record{Value: make([]byte, 1000)}, false},
		"id too long":     {Record{ID: strings.Repeat("i", MaxID+1)}, false},
		"key too long":    {Record{Key: strings.Repeat("k", MaxKey+1)}, false},
		"too many heads":  {Record{Header: make([]Header, MaxHeaders+1)}, false},
		"as many as most": {Record{Header: make([]Header, MaxHeaders)}, true},
	} {
		if err := Check(&c.r, 500); (err == nil) != c.ok || err != nil && whittle.CodeOf(err) != whittle.Invalid {
			t.Errorf("%s: %v", name, err)
		}
	}
}
