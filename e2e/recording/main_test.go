package main

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"whittle/internal/fatal"
)

// TestDraw: the picture is XML, each line is in it, and the last one comes within its time.
func TestDraw(t *testing.T) {
	var lines []line
	for i := range 3 * rows {
		lines = append(lines, line{time.Duration(i*i) * time.Second, fmt.Sprintf("%d <%s>", i, strings.Repeat("x", i*3))})
	}
	at := shortened(lines)
	for i := 1; i < len(at); i++ {
		if at[i] < at[i-1] || at[i] > lasts {
			t.Fatalf("line %d at %s, after %s", i, at[i], at[i-1])
		}
	}
	var b bytes.Buffer
	draw(&b, lines)
	texts := 0
	for d := xml.NewDecoder(&b); ; {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		fatal.If(t, err)
		if s, ok := token.(xml.StartElement); ok && s.Name.Local == "text" {
			texts++
		}
	}
	if texts != len(lines) {
		t.Errorf("%d of %d lines", texts, len(lines))
	}
}
