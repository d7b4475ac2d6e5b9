package smell_test

import (
	"bytes"
	"compress/gzip"
	"container/list"
	"crypto/sha256"
	"encoding/csv"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"html/template"
	"image"
	"io"
	"log/slog"
	randv2 "math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"golang.org/x/image/draw"
	"golang.org/x/time/rate"
	"google.golang.org/protobuf/proto"
)

// cleans are services that do ordinary work as one would wish it done.
var cleans = map[string]func() http.Handler{
	"json api":          as(jsonAPI),
	"template":          as(page),
	"gzip":              as(compressed),
	"static file":       staticFile,
	"sorting":           as(sorted),
	"hashing":           as(hashed),
	"protobuf":          as(marshalled),
	"cache":             cached,
	"regexp":            as(matched),
	"worker pool":       pooled,
	"csv":               as(table),
	"xml":               as(marshalXML),
	"streaming copy":    as(streamed),
	"least recent":      lru,
	"rate limiter":      limited,
	"image scaling":     scaled,
	"access log":        logged,
	"reverse proxy":     proxied,
	"own random source": as(drawn),
	"defer per request": deferred,
}

type person struct {
	Name  string `json:"name" xml:"name"`
	Times []int  `json:"times" xml:"times"`
}

func jsonAPI(w http.ResponseWriter, r *http.Request) {
	var p person
	if err := json.NewDecoder(r.Body).Decode(&p); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	slices.Sort(p.Times)
	json.NewEncoder(w).Encode(p)
}

var pageTemplate = template.Must(template.New("page").Parse(`<h1>{{.Name}}</h1>{{range .Times}}<p>{{.}}</p>{{end}}`))

func page(w http.ResponseWriter, _ *http.Request) {
	pageTemplate.Execute(w, person{"Ada", []int{1, 2, 3}})
}

var (
	text    = bytes.Repeat([]byte("what is carved is small, what stays is whole; "), 500)
	writers = sync.Pool{New: func() any { return gzip.NewWriter(io.Discard) }}
)

func compressed(w http.ResponseWriter, _ *http.Request) {
	z := writers.Get().(*gzip.Writer)
	defer writers.Put(z)
	z.Reset(w)
	z.Write(text)
	z.Close()
}

func staticFile() http.Handler {
	folder, err := os.MkdirTemp("", "smell")
	if err != nil {
		panic(err)
	}
	if err := os.WriteFile(filepath.Join(folder, "work"), text, 0o600); err != nil {
		panic(err)
	}
	return http.FileServer(http.Dir(folder))
}

func sorted(w http.ResponseWriter, _ *http.Request) {
	all := make([]int, 0, 5000)
	for i := range 5000 {
		all = append(all, i*7919%5003)
	}
	slices.Sort(all)
	w.Write(strconv.AppendInt(nil, int64(all[10]), 10))
}

func hashed(w http.ResponseWriter, _ *http.Request) {
	sum := sha256.Sum256(text)
	w.Write(sum[:])
}

func marshalled(w http.ResponseWriter, _ *http.Request) {
	b, _ := proto.Marshal(message) // which can be
	w.Write(b)
}

func cached() http.Handler {
	var mu sync.RWMutex
	kept := map[string][]byte{"/work": text[:100]}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.RLock()
		b := kept[r.URL.Path]
		mu.RUnlock()
		w.Write(b)
	})
}

var word = regexp.MustCompile(`[a-z]+ly|s[a-z]+`)

func matched(w http.ResponseWriter, _ *http.Request) {
	fmt.Fprint(w, len(word.FindAllIndex(text[:1000], -1)))
}

func pooled() http.Handler {
	jobs := make(chan chan int)
	for range 2 {
		go func() {
			for response := range jobs {
				n := 0
				for i := range 20_000 {
					n += i ^ n
				}
				response <- n
			}
		}()
	}
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		response := make(chan int, 1)
		jobs <- response
		w.Write(strconv.AppendInt(nil, int64(<-response), 10))
	})
}

var rows = strings.Repeat("1,Ada,London\n2,\"Grace\",New York\n", 50)

func table(w http.ResponseWriter, _ *http.Request) {
	in := csv.NewReader(strings.NewReader(rows))
	in.ReuseRecord = true
	out := csv.NewWriter(w)
	for {
		row, err := in.Read()
		if err != nil {
			break
		}
		out.Write(row)
	}
	out.Flush()
}

func marshalXML(w http.ResponseWriter, _ *http.Request) {
	xml.NewEncoder(w).Encode(person{"Ada", []int{1, 2, 3}})
}

func streamed(w http.ResponseWriter, _ *http.Request) {
	io.Copy(w, io.LimitReader(bytes.NewReader(text), 16<<10))
}

func lru() http.Handler {
	var mu sync.Mutex
	order, at := list.New(), map[int]*list.Element{}
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		key := randv2.IntN(200)
		mu.Lock()
		if e, ok := at[key]; ok {
			order.MoveToFront(e)
		} else {
			at[key] = order.PushFront(key)
			if order.Len() > 100 {
				delete(at, order.Remove(order.Back()).(int))
			}
		}
		mu.Unlock()
		io.WriteString(w, "ok")
	})
}

func limited() http.Handler {
	limit := rate.NewLimiter(rate.Inf, 1)
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if !limit.Allow() {
			http.Error(w, "too many", http.StatusTooManyRequests)
			return
		}
		io.WriteString(w, "ok")
	})
}

func scaled() http.Handler {
	from := image.NewRGBA(image.Rect(0, 0, 200, 200))
	targets := sync.Pool{New: func() any { return image.NewRGBA(image.Rect(0, 0, 60, 60)) }}
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		to := targets.Get().(*image.RGBA)
		defer targets.Put(to)
		draw.ApproxBiLinear.Scale(to, to.Bounds(), from, from.Bounds(), draw.Src, nil)
		w.Write(to.Pix[:64])
	})
}

// logged writes a line in addition to work that is worth one, so that also where system
// calls are dear the line is a small part of it.
func logged() http.Handler {
	out := slog.New(slog.NewJSONHandler(os.Stderr, nil))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b, _ := json.Marshal(person{"Ada", []int{1, 2, 3}}) // which can be
		h := sha256.New()
		for range 8 {
			h.Write(text)
		}
		w.Write(append(b, h.Sum(nil)[:4]...))
		out.Info("responded", "method", r.Method, "path", r.URL.Path, "bytes", len(b))
	})
}

func proxied() http.Handler {
	upstream := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "ok") }))
	to, err := url.Parse(upstream.URL)
	if err != nil {
		panic(err)
	}
	return &httputil.ReverseProxy{
		Transport: &http.Transport{MaxIdleConnsPerHost: 16},
		Rewrite:   func(r *httputil.ProxyRequest) { r.SetURL(to) },
	}
}

func drawn(w http.ResponseWriter, _ *http.Request) {
	source := randv2.New(randv2.NewPCG(1, 2))
	n := 0
	for range 20_000 {
		n += source.IntN(100)
	}
	w.Write(strconv.AppendInt(nil, int64(n), 10))
}

func deferred() http.Handler {
	var mu sync.Mutex
	n := 0
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		n++
		io.WriteString(w, "ok")
	})
}
