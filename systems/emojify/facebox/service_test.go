package facebox

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"image"
	"io"
	"log/slog"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"go.uber.org/goleak"

	"whittle"
	"whittle/systems/emojify/picture"
)

func TestMain(m *testing.M) {
	// net/http keeps a connection of which it refused the body for half a second more.
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("net/http.(*conn).closeWriteAndWait"))
}

type fetched map[string][]byte

func (f fetched) Fetch(_ context.Context, url string) ([]byte, error) {
	if b, ok := f[url]; ok {
		return b, nil
	}
	return nil, whittle.Errorf(whittle.PermissionDenied, "that address is not for strangers")
}

func service(t testing.TB, o Options) *Service {
	t.Helper()
	o.Log = slog.New(slog.DiscardHandler)
	s, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// post sends a body, and has the response read strictly.
func post(t testing.TB, s http.Handler, kind, body string) (int, response) {
	t.Helper()
	r := httptest.NewRequest(http.MethodPost, "/facebox/check", strings.NewReader(body))
	r.Header.Set("Content-Type", kind)
	w := httptest.NewRecorder()
	s.ServeHTTP(w, r)
	var a response
	d := json.NewDecoder(w.Body)
	d.DisallowUnknownFields()
	if err := d.Decode(&a); err != nil {
		t.Fatalf("%d %q: %v", w.Code, w.Body, err)
	}
	return w.Code, a
}

func multi(t testing.TB, parts ...string) (kind, body string) {
	t.Helper()
	var b bytes.Buffer
	m := multipart.NewWriter(&b)
	for i := 0; i < len(parts); i += 2 {
		w, err := m.CreateFormFile(parts[i], "x")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(w, parts[i+1]); err != nil {
			t.Fatal(err)
		}
	}
	if err := m.Close(); err != nil {
		t.Fatal(err)
	}
	return m.FormDataContentType(), b.String()
}

func TestEachWayToSendAPicture(t *testing.T) {
	face := asPNG(t, portrait(t))
	b64 := base64.StdEncoding.EncodeToString(face)
	const at = "https://pictures.example/a.png"
	s := service(t, Options{Fetcher: fetched{at: face}})
	kind, file := multi(t, "other", "skipped", "file", string(face))
	const form, asJSON = "application/x-www-form-urlencoded", "application/json; charset=utf-8"
	for name, c := range map[string]struct{ kind, body string }{
		"file":        {kind, file},
		"form base64": {form, url.Values{"base64": {b64}}.Encode()},
		"form url":    {form, url.Values{"url": {at}}.Encode()},
		"JSON base64": {asJSON, `{"base64":"` + b64 + `"}`},
		"JSON url":    {asJSON, `{"url":"` + at + `"}`},
	} {
		status, a := post(t, s, c.kind, c.body)
		if status != http.StatusOK || !a.Success || a.FacesCount != 1 || len(a.Faces) != 1 ||
			!isFace(a.Faces[0].Rect.rectangle(), image.Rect(0, 0, 320, 400)) || a.Faces[0].Matched {
			t.Errorf("%s: %d %+v", name, status, a)
		}
	}
}

func TestWhatACheckRefuses(t *testing.T) {
	s := service(t, Options{Limits: picture.Limits{Bytes: 200_000, Pixels: 500 * 500}, Fetcher: fetched{}})
	noURLs := service(t, Options{})
	const form, asJSON = "application/x-www-form-urlencoded", "application/json"
	wide := asPNG(t, image.NewGray(image.Rect(0, 0, 501, 500)))
	kindWide, bodyWide := multi(t, "file", string(wide))
	kindTwo, bodyTwo := multi(t, "file", "x", "url", "http://a.example/")
	kindTwice, bodyTwice := multi(t, "file", "x", "file", "y")
	kindLarge, bodyLarge := multi(t, "file", strings.Repeat("x", 400_000))
	for name, c := range map[string]struct {
		s          *Service
		kind, body string
		status     int
		says       string
	}{
		"nothing":         {s, form, "", 400, "one of file, url and base64"},
		"no type":         {s, "", "x", 400, "no content type"},
		"another type":    {s, "text/plain", "x", 400, "not as"},
		"two sources":     {s, kindTwo, bodyTwo, 400, "one of"},
		"two files":       {s, kindTwice, bodyTwice, 400, "more than one file"},
		"no boundary":     {s, "multipart/form-data", "x", 400, "cannot be read"},
		"broken off":      {s, kindTwo, bodyTwo[:40], 400, "cannot be read"},
		"broken JSON":     {s, asJSON, `{"url":`, 400, "cannot be read"},
		"broken form":     {s, form, "url=%zz", 400, "cannot be read"},
		"no base64":       {s, form, "base64=%21%21", 400, "not base64"},
		"no picture":      {s, form, "base64=aGVsbG8%3D", 400, "no JPEG, PNG or GIF"},
		"too many bytes":  {s, kindLarge, bodyLarge, 413, "more than"},
		"too many pixels": {s, kindWide, bodyWide, 413, "501 by 500 pixels"},
		"a long url":      {s, form, "url=http://a.example/" + strings.Repeat("a", maxURL), 400, "more than 2048 bytes"},
		"a forbidden url": {s, form, "url=http://127.0.0.1/", 403, "not for strangers"},
		"no fetcher":      {noURLs, form, "url=http://a.example/", 501, "switched off"},
	} {
		status, a := post(t, c.s, c.kind, c.body)
		if status != c.status || a.Success || a.FacesCount != 0 || !strings.Contains(a.Error, c.says) {
			t.Errorf("%s: %d %+v", name, status, a)
		}
	}
	w := httptest.NewRecorder()
	s.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/facebox/check", nil))
	if w.Code != http.StatusMethodNotAllowed {
		t.Errorf("GET got %d", w.Code)
	}
}

// blocked is a fetcher whose picture comes when the test says so.
type blocked struct {
	asked chan struct{}
	come  chan []byte
}

func (b blocked) Fetch(ctx context.Context, _ string) ([]byte, error) {
	b.asked <- struct{}{}
	select {
	case p := <-b.come:
		return p, nil
	case <-ctx.Done():
		return nil, whittle.Errorf(whittle.Canceled, "gone")
	}
}

func TestOnlySoManyAreInside(t *testing.T) {
	b := blocked{make(chan struct{}), make(chan []byte)}
	r := prometheus.NewRegistry()
	s := service(t, Options{Workers: 1, Waiting: 1, Fetcher: b, Metrics: r, Timeout: time.Minute})
	statuses := make(chan int, 2)
	for range 2 {
		go func() {
			status, _ := post(t, s, "application/json", `{"url":"http://a.example/"}`)
			statuses <- status
		}()
		<-b.asked
	}
	if status, a := post(t, s, "application/json", `{"url":"http://a.example/"}`); status != http.StatusServiceUnavailable || !strings.Contains(a.Error, "too many") {
		t.Errorf("one more: %d %+v", status, a)
	}
	for range 2 {
		b.come <- asPNG(t, portrait(t))
	}
	for range 2 {
		if status := <-statuses; status != http.StatusOK {
			t.Errorf("inside: %d", status)
		}
	}
	if ok := testutil.ToFloat64(s.checks.WithLabelValues("ok")); ok != 2 {
		t.Errorf("%v checks were counted", ok)
	}
}

func TestTheClientAndTheService(t *testing.T) {
	srv := httptest.NewServer(service(t, Options{}))
	defer srv.Close()
	c, err := NewClient(srv.URL + "/")
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if err := c.Ready(t.Context()); err != nil {
		t.Error(err)
	}
	faces, err := c.Find(t.Context(), asPNG(t, portrait(t)))
	if err != nil || len(faces) != 1 || !isFace(faces[0], image.Rect(0, 0, 320, 400)) {
		t.Errorf("%v, %v", faces, err)
	}
	if faces, err := c.Find(t.Context(), asPNG(t, image.NewGray(image.Rect(0, 0, 90, 90)))); err != nil || len(faces) != 0 {
		t.Errorf("no face: %v, %v", faces, err)
	}
	if _, err := c.Find(t.Context(), []byte("no picture")); whittle.CodeOf(err) != whittle.Invalid {
		t.Error(err)
	}
	srv.Close()
	if err := c.Ready(t.Context()); whittle.CodeOf(err) != whittle.Unavailable {
		t.Errorf("gone: %v", err)
	}
	for _, base := range []string{"", "facebox:8080", "ftp://a", "http://", "http://a?b", "http://a#b"} {
		if _, err := NewClient(base); whittle.CodeOf(err) != whittle.Invalid {
			t.Errorf("%q is taken: %v", base, err)
		}
	}
}

// What a FaceBox of Machine Box's returns, with all that it adds to a face.
const machineBox = `{"success": true, "facesCount": 2, "faces": [
	{"rect": {"top": 10, "left": 20, "width": 30, "height": 40}, "id": "a.jpg", "name": "A", "matched": true, "confidence": 0.61, "faceprint": "AAA="},
	{"rect": {"top": -5, "left": 90, "width": 30, "height": 30}, "matched": false}]}`

func TestResponsesOfABox(t *testing.T) {
	within := image.Rect(0, 0, 100, 100)
	for name, c := range map[string]struct {
		status int
		body   string
		faces  []image.Rectangle
		code   whittle.Code
	}{
		"Machine Box's":  {200, machineBox, []image.Rectangle{image.Rect(20, 10, 50, 50), image.Rect(90, 0, 100, 25)}, 0},
		"none":           {200, `{"success": true, "facesCount": 0}`, nil, 0},
		"mad rectangles": {200, `{"success": true, "faces": [{"rect": {"width": 9223372036854775807, "height": 5}}, {"rect": {"left": 1000, "width": 5, "height": 5}}]}`, nil, 0},
		"no success":     {200, `{"success": false, "error": "image: unknown format"}`, nil, whittle.Invalid},
		"refused":        {400, `{"success": false, "error": "failed to read file"}`, nil, whittle.Invalid},
		"too large":      {413, `{}`, nil, whittle.ResourceExhausted},
		"busy":           {503, `<html>`, nil, whittle.Unavailable},
		"elsewhere":      {404, `404 page not found`, nil, whittle.Unavailable},
		"no JSON":        {200, `hello`, nil, whittle.Unavailable},
	} {
		faces, err := readFaces(c.status, []byte(c.body), within)
		if (err != nil) != (c.code != 0) || err != nil && whittle.CodeOf(err) != c.code || len(faces) != len(c.faces) {
			t.Errorf("%s: %v, %v", name, faces, err)
			continue
		}
		for i, f := range c.faces {
			if faces[i] != f {
				t.Errorf("%s: %v, want %v", name, faces, c.faces)
			}
		}
	}
}

func FuzzReadFaces(f *testing.F) {
	f.Add(200, []byte(machineBox))
	f.Add(400, []byte(`{"success":false}`))
	within := image.Rect(0, 0, 640, 480)
	f.Fuzz(func(t *testing.T, status int, b []byte) {
		faces, err := readFaces(status, b, within)
		for _, r := range faces {
			if r.Empty() || !r.In(within) || err != nil {
				t.Errorf("%v of %v, %v", r, within, err)
			}
		}
	})
}

// The image front: whatever is posted, the response is one of FaceBox's shape.
func FuzzCheck(f *testing.F) {
	s := service(f, Options{Limits: picture.Limits{Bytes: 1 << 16, Pixels: 1 << 14}, Fetcher: fetched{}})
	small := asPNG(f, image.NewGray(image.Rect(0, 0, 40, 40)))
	kind, body := multi(f, "file", string(small))
	f.Add(kind, body)
	f.Add("application/json", `{"base64":"`+base64.StdEncoding.EncodeToString(small)+`"}`)
	f.Add("application/x-www-form-urlencoded", "url=http%3A%2F%2F10.0.0.1")
	f.Fuzz(func(t *testing.T, kind, body string) {
		status, a := post(t, s, kind, body)
		if a.Success != (status == http.StatusOK) || a.Success == (a.Error != "") || len(a.Faces) != a.FacesCount || status >= 500 && status != 503 {
			t.Errorf("%d %+v", status, a)
		}
	})
}
