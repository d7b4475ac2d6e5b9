package facebox

import (
	"bytes"
	"encoding/json"
	"image"
	"image/color"
	"image/draw"
	"image/jpeg"
	"image/png"
	"io"
	"log/slog"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"go.uber.org/goleak"
	xdraw "golang.org/x/image/draw"

	"whittle"
	"whittle/internal/fatal"
	"whittle/systems/emojify/facebox/faceboxtest"
	"whittle/systems/emojify/picture"
	"whittle/whittletest"
)

func TestMain(m *testing.M) {
	// net/http keeps a connection of which it refused the body for half a second more.
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("net/http.(*conn).closeWriteAndWait"))
}

func service(t testing.TB, o Options) *Service {
	t.Helper()
	o.Log = slog.New(slog.DiscardHandler)
	s, err := New(o)
	fatal.If(t, err)
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
		fatal.If(t, err)
		if _, err := io.WriteString(w, parts[i+1]); err != nil {
			t.Fatal(err)
		}
	}
	fatal.If(t, m.Close())
	return m.FormDataContentType(), b.String()
}

func TestTheClientAndTheService(t *testing.T) {
	srv := httptest.NewServer(service(t, Options{}))
	defer srv.Close()
	c, err := NewClient(srv.URL + "/")
	fatal.If(t, err)
	defer c.Close()
	fatal.If(t, c.Ready(t.Context()))
	faces, err := c.Find(t.Context(), asPNG(t, portrait(t)))
	if err != nil || len(faces) != 1 || !isFace(faces[0], image.Rect(0, 0, 320, 400)) {
		t.Errorf("%v, %v", faces, err)
	}
	if faces, err := c.Find(t.Context(), asPNG(t, image.NewGray(image.Rect(0, 0, 90, 90)))); err != nil || len(faces) != 0 {
		t.Errorf("no face: %v, %v", faces, err)
	}
	_, err = c.Find(t.Context(), []byte("no picture"))
	whittletest.Refused(t, err, whittle.Invalid, "")
	srv.Close()
	whittletest.Refused(t, c.Ready(t.Context()), whittle.Unavailable, "gone")
	for _, base := range []string{"", "facebox:8080", "ftp://a", "http://", "http://a?b", "http://a#b"} {
		_, err := NewClient(base)
		whittletest.Refused(t, err, whittle.Invalid, base)
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
			fatal.Same(t, faces[i], f, "%s: %v", name, faces)
		}
	}
}

func TestWhatACheckRefuses(t *testing.T) {
	s := service(t, Options{Limits: picture.Limits{Bytes: 200_000, Pixels: 500 * 500}})
	const asJSON = "application/json"
	kindWide, bodyWide := multi(t, "file", string(asPNG(t, image.NewGray(image.Rect(0, 0, 501, 500)))))
	kindTwice, bodyTwice := multi(t, "file", "x", "file", "y")
	kindLarge, bodyLarge := multi(t, "file", strings.Repeat("x", 400_000))
	kindNone, bodyNone := multi(t, "url", "http://127.0.0.1/")
	kindText, bodyText := multi(t, "file", "hello")
	for name, c := range map[string]struct {
		kind, body string
		status     int
		says       string
	}{
		"no type":         {"", "x", 400, "multipart/form-data"},
		"base64":          {asJSON, `{"base64":"aGVsbG8="}`, 501, "multipart/form-data"},
		"a url":           {kindNone, bodyNone, 400, "no part file"},
		"two files":       {kindTwice, bodyTwice, 400, "more than one file"},
		"no boundary":     {"multipart/form-data", "x", 400, "cannot be read"},
		"broken off":      {kindTwice, bodyTwice[:40], 400, "cannot be read"},
		"no picture":      {kindText, bodyText, 400, "no JPEG, PNG or GIF"},
		"too many bytes":  {kindLarge, bodyLarge, 413, "more than"},
		"too many pixels": {kindWide, bodyWide, 413, "501 by 500 pixels"},
	} {
		status, a := post(t, s, c.kind, c.body)
		if status != c.status || a.Success || a.FacesCount != 0 || !strings.Contains(a.Error, c.says) {
			t.Errorf("%s: %d %+v", name, status, a)
		}
	}
	w := httptest.NewRecorder()
	s.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/facebox/check", nil))
	fatal.Same(t, w.Code, http.StatusMethodNotAllowed, "GET")
}

// portrait is the picture that pigo itself is tested with, 320 by 400 pixels;
// the face fills about 190 of them around (160, 210).
func portrait(t testing.TB) image.Image {
	t.Helper()
	img, err := jpeg.Decode(bytes.NewReader(faceboxtest.Photograph(t)))
	fatal.If(t, err)
	return img
}

func asPNG(t testing.TB, m image.Image) []byte {
	t.Helper()
	var b bytes.Buffer
	fatal.If(t, (&png.Encoder{CompressionLevel: png.BestSpeed}).Encode(&b, m))
	return b.Bytes()
}

func detector(t testing.TB) *Detector {
	t.Helper()
	d, err := NewDetector(picture.Limits{})
	fatal.If(t, err)
	return d
}

// scene puts the portrait into places of a larger, plain picture.
func scene(t testing.TB, size image.Point, places ...image.Rectangle) *image.RGBA {
	t.Helper()
	m := image.NewRGBA(image.Rectangle{Max: size})
	draw.Draw(m, m.Bounds(), image.NewUniform(color.RGBA{0x9a, 0xb4, 0xc8, 0xff}), image.Point{}, draw.Src)
	p := portrait(t)
	for _, at := range places {
		xdraw.BiLinear.Scale(m, at, p, p.Bounds(), draw.Src, nil)
	}
	return m
}

// isFace reports whether a rectangle is that of the portrait in a place: between
// half and all of its width, around the nose.
func isFace(r, place image.Rectangle) bool {
	center := r.Min.Add(r.Max).Div(2)
	nose := place.Min.Add(image.Pt(place.Dx()/2, place.Dy()*21/40))
	far := center.Sub(nose)
	return far.X*far.X+far.Y*far.Y < place.Dx()*place.Dx()/64 && r.Dx() > place.Dx()/2 && r.Dx() < place.Dx()
}

func TestFacesAreFoundWhereTheyAre(t *testing.T) {
	d := detector(t)
	for name, c := range map[string]struct {
		size   image.Point
		places []image.Rectangle
	}{
		"the portrait":      {image.Pt(320, 400), []image.Rectangle{image.Rect(0, 0, 320, 400)}},
		"two":               {image.Pt(1000, 600), []image.Rectangle{image.Rect(60, 90, 380, 490), image.Rect(600, 150, 840, 450)}},
		"three in a row":    {image.Pt(1060, 460), []image.Rectangle{image.Rect(25, 30, 345, 430), image.Rect(370, 30, 690, 430), image.Rect(715, 30, 1035, 430)}},
		"large, shrunk":     {image.Pt(1500, 1000), []image.Rectangle{image.Rect(600, 150, 1080, 750)}},
		"none":              {image.Pt(500, 500), nil},
		"less than a face":  {image.Pt(12, 9), nil},
		"one pixel":         {image.Pt(1, 1), nil},
		"long and narrow":   {image.Pt(2000, 3), nil},
		"small in a corner": {image.Pt(900, 720), []image.Rectangle{image.Rect(780, 570, 900, 720)}},
	} {
		faces, err := d.Detect(t.Context(), asPNG(t, scene(t, c.size, c.places...)))
		if err != nil || len(faces) != len(c.places) {
			t.Errorf("%s: %v, %v", name, faces, err)
			continue
		}
		for _, place := range c.places {
			found := false
			for _, f := range faces {
				found = found || isFace(f.Rect, place) && f.Confidence > 0.5 && f.Confidence < 1
			}
			if !found {
				t.Errorf("%s: no face in %v among %v", name, place, faces)
			}
		}
	}
}

func TestShrinkAverages(t *testing.T) {
	m := image.NewGray(image.Rect(0, 0, 4, 2))
	copy(m.Pix, []byte{0, 100, 200, 200, 100, 200, 0, 0})
	g := shrink(m, 2)
	if g.w != 2 || g.h != 1 || !bytes.Equal(g.pix, []byte{100, 100}) {
		t.Errorf("%+v", g)
	}
	fatal.Same(t, g.grow(image.Rect(1, 0, 2, 1)), image.Rect(2, 0, 4, 2), "grown")
	if g := shrink(m, 4); g.w != 4 || g.h != 2 || !bytes.Equal(g.pix, m.Pix) {
		t.Errorf("not shrunk: %+v", g)
	}
}
