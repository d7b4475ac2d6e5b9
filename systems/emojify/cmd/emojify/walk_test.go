package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"image"
	_ "image/jpeg"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"whittle/e2e/process"
	"whittle/internal/cputime"
	"whittle/internal/fatal"
	"whittle/systems/emojify/facebox/faceboxtest"
)

type progress struct{ ID, Status, Error string }

// submit sends a body, and gives what became of it.
func submit(t *testing.T, base, contentType string, body []byte) progress {
	t.Helper()
	res, said := process.Ask(t, http.MethodPost, base+"/emojify/", string(body), "Content-Type: "+contentType)
	var p progress
	if err := json.Unmarshal([]byte(said), &p); err != nil || res.StatusCode >= 300 {
		t.Fatalf("%d %s", res.StatusCode, said)
	}
	process.Until(t, "the picture is done", func() bool {
		if _, b := get(t, base+"/emojify/"+p.ID); json.Unmarshal(b, &p) != nil {
			t.Fatalf("status: %s", b)
		}
		return p.Status == "finished" || p.Status == "failed"
	})
	return p
}

// TestFacesAreCovered goes all the way in one process, and in three.
func TestFacesAreCovered(t *testing.T) {
	photo := faceboxtest.Photograph(t)
	pictures := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(photo) }))
	defer pictures.Close()
	facebox := start(t, "facebox")
	cache := start(t, "cache", "--dir", t.TempDir())
	for name, p := range map[string]*program{
		"one process": start(t, "all", "--dir", t.TempDir(), "--allow", "127.0.0.0/8"),
		"three":       start(t, "api", "--cache", cache.Public, "--facebox", "http://"+facebox.Public, "--allow", "127.0.0.0/8"),
	} {
		base := "http://" + p.Public
		if code, b := get(t, base+"/health"); code != 200 {
			t.Errorf("%s: health %d %s", name, code, b)
		}
		byURL := submit(t, base, "text/plain", []byte(pictures.URL+"/faces.jpg"))
		sent := submit(t, base, "image/jpeg", photo)
		_, one := get(t, base+"/cache/"+byURL.ID)
		_, other := get(t, base+"/cache/"+sent.ID)
		if byURL.Status != "finished" || !bytes.Equal(one, other) {
			t.Errorf("%s: %+v, %+v, %d and %d bytes", name, byURL, sent, len(one), len(other))
		}
		if changed(t, photo, one) < 0.001 {
			t.Errorf("%s: nothing was covered", name)
		}
	}
}

// changed is the part of the pixels that clearly differ.
func changed(t *testing.T, a, b []byte) float64 {
	t.Helper()
	before, _, err := image.Decode(bytes.NewReader(a))
	fatal.If(t, err)
	after, _, err := image.Decode(bytes.NewReader(b))
	if err != nil || after.Bounds() != before.Bounds() {
		t.Fatalf("%v, %v in place of %v", err, after, before.Bounds())
	}
	n, r := 0, before.Bounds()
	for y := r.Min.Y; y < r.Max.Y; y++ {
		for x := r.Min.X; x < r.Max.X; x++ {
			r1, g1, b1, _ := before.At(x, y).RGBA()
			r2, g2, b2, _ := after.At(x, y).RGBA()
			if max(r1, r2)-min(r1, r2) > 0x4000 || max(g1, g2)-min(g1, g2) > 0x4000 || max(b1, b2)-min(b1, b2) > 0x4000 {
				n++
			}
		}
	}
	return float64(n) / float64(r.Dx()*r.Dy())
}

// TestWhatIsNearIsNotFetched has a stranger name an address of this machine.
func TestWhatIsNearIsNotFetched(t *testing.T) {
	asked := false
	near := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked = true }))
	defer near.Close()
	p := start(t, "all", "--dir", t.TempDir())
	for _, url := range []string{near.URL, strings.Replace(near.URL, "127.0.0.1", "localhost", 1), "http://" + p.Admin + "/debug/pprof/heap"} {
		if got := submit(t, "http://"+p.Public, "", []byte(url)); got.Status != "failed" || got.Error == "" || got.Error == "internal error" {
			t.Errorf("%s: %+v", url, got)
		}
	}
	if asked {
		t.Error("it was asked")
	}
}

// BenchmarkCacheHit is what a picture from the cache costs the API and the
// cache, each a process, with the forgotten line and without, for four clients a core.
func BenchmarkCacheHit(b *testing.B) {
	for _, size := range []int{50_000, 200_000, 500_000} {
		picture := make([]byte, size)
		r := rand.NewChaCha8([32]byte{5})
		_, _ = r.Read(picture) // as a compressed picture is
		copy(picture, "\x89PNG\r\n\x1a\n")
		for _, c := range []struct {
			name string
			args []string
		}{{"without", nil}, {"debug-print", []string{"--debug-print"}}} {
			b.Run(fmt.Sprintf("%dkB/%s", size/1000, c.name), func(b *testing.B) {
				api, cache := two(b, c.args...)
				url := "http://" + api.Public + "/cache/" + store(b, cache.Public, picture)
				if code, got := get(b, url); code != 200 || !bytes.Equal(got, picture) {
					b.Fatalf("%d, %d bytes", code, len(got))
				}
				apiBefore, cacheBefore := spent(b, api), spent(b, cache)
				b.SetParallelism(4)
				b.ResetTimer()
				b.RunParallel(func(pb *testing.PB) {
					for pb.Next() {
						get(b, url)
					}
				})
				b.ReportMetric((spent(b, api)-apiBefore)/float64(b.N), "api-µs/op")
				b.ReportMetric((spent(b, cache)-cacheBefore)/float64(b.N), "cache-µs/op")
			})
		}
	}
}

// spent is a process's CPU time in microseconds.
func spent(b *testing.B, p *program) float64 {
	b.Helper()
	d, err := cputime.Of(p.Pid())
	fatal.If(b, err)
	return float64(d.Nanoseconds()) / 1e3
}
