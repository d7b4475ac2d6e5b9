package api

import (
	"bytes"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"golang.org/x/sync/semaphore"

	"whittle"
)

// FuzzSubmitted holds what is read of a stranger's request: a URL that is one,
// or a picture within its bound, under the hash of either; and never room that
// is not given back.
func FuzzSubmitted(f *testing.F) {
	f.Add("", []byte(" https://example.com/faces.png\n"))
	f.Add("text/plain; charset=utf-8", []byte("http://[::1]:80/%zz"))
	f.Add("image/png", []byte("\x89PNG\r\n\x1a\n"))
	f.Add("multipart/form-data; boundary=x", []byte("--x\r\nContent-Disposition: form-data; name=\"image\"\r\n\r\nGIF89a\r\n--x--\r\n"))
	f.Add("multipart/form-data; boundary=\"", []byte("--"))
	f.Fuzz(func(t *testing.T, contentType string, body []byte) {
		const most = 1000
		a := &API{o: Options{MaxUpload: most, now: time.Now}, uploads: semaphore.NewWeighted(most)}
		r := httptest.NewRequest("POST", "/emojify/", bytes.NewReader(body))
		r.Header.Set("Content-Type", contentType)
		one, err := a.read(httptest.NewRecorder(), r)
		switch {
		case err != nil && whittle.CodeOf(err) == whittle.Internal:
			t.Fatalf("a stranger's mistake is called ours: %v", err)
		case err != nil:
		case one.picture != nil:
			if len(one.picture) > most || one.id != idOf(one.picture) || one.url != "" {
				t.Fatalf("%d bytes, url %q", len(one.picture), one.url)
			}
			one.release()
		case len(one.url) > maxURL || one.id != idOf([]byte(one.url)) || !strings.HasPrefix(strings.ToLower(one.url), "http"):
			t.Fatalf("url = %q", one.url)
		}
		if !a.uploads.TryAcquire(most) {
			t.Fatal("room was not given back")
		}
	})
}
