package collect

import (
	"os"
	"path/filepath"
	"testing"

	"whittle/profile"
)

func TestCalls(t *testing.T) {
	file := filepath.Join(t.TempDir(), "app.js")
	for text, want := range map[string]bool{
		"sum += Math.round(Math.random() * 100);":  false,
		"for (let i = 0; i < times; i++) sum += i": false,
		"i++ // as draw(i) does":                   true,
		"const b = JSON.parse(body)":               false,
		"while (x[i] < y) { i++ }":                 false,
		"sum += a * b":                             false,
		"return draw(times)":                       true,
		"res.end('Counted to ' + draw(300000))":    true,
		"all.push({ i })":                          true,
		"handlers[i](req)":                         true,
		"make()(req)":                              true,
		"mathMath.round(x)":                        true,
		"if (ready (x)) y = 1":                     true,
		"x = f\t(1)":                               true,
	} {
		if err := os.WriteFile(file, []byte("'use strict'\n"+text+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		f := &profile.Function{File: file, Line: 1, Owner: profile.Own}
		if got := newRoutes().calls(f, 2); got != want {
			t.Errorf("%s: %t, want %t", text, got, want)
		}
		if r := newRoutes(); !r.calls(f, 0) || !r.calls(f, 9) || !r.calls(&profile.Function{File: "app.js"}, 2) {
			t.Error("a line that cannot be read may call")
		}
	}
}
