package smell_test

import (
	"fmt"
	"io"
	"log"
	"log/slog"
	"math/rand"
	"net/http"
	"net/http/httptest"
	"reflect"
	"regexp"
	"strings"
	"sync"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/types/known/structpb"
)

// faults are services with one mistake each, by the smell's name and, after "_", its form.
var faults = map[string]func() http.Handler{
	"printed-message":           as(printMessage),
	"printed-message_formatted": as(formatMessage),
	"printing":                  as(printLine),
	"formatting":                as(format),
	"logging":                   as(logStandard),
	"logging_structured":        as(logStructured),
	"json-for-messages":         as(speakJSON),
	"locked-random":             seededRandom,
	"lock-contention":           contend,
	"lock-contention_random":    sharedRandom,
	"gc-pressure":               as(allocate),
	"reflection":                as(reflecting),
	"regexp-compiled":           as(compile),
	"defer-in-loop":             as(deferring),
	"connection-churn":          func() http.Handler { return dialing(false) },
	"connection-churn_tls":      func() http.Handler { return dialing(true) },
}

// as starts a service that is one function.
func as(f http.HandlerFunc) func() http.Handler { return func() http.Handler { return f } }

// message is what a small response between services looks like.
var message = func() *structpb.Struct {
	m, err := structpb.NewStruct(map[string]any{"id": "ab12", "status": "FINISHED", "position": 3.0, "tags": []any{"a", "b", "c"}})
	if err != nil {
		panic(err)
	}
	return m
}()

func printMessage(w http.ResponseWriter, _ *http.Request) {
	fmt.Println(message) // smell: printed-message
	io.WriteString(w, "ok")
}

func formatMessage(w http.ResponseWriter, _ *http.Request) {
	s := fmt.Sprintf("%v", message) // smell: printed-message_formatted
	fmt.Fprint(w, len(s))
}

func printLine(w http.ResponseWriter, r *http.Request) {
	for i := range 30 {
		fmt.Println("step", i, r.URL.Path) // smell: printing
	}
	io.WriteString(w, "ok")
}

func format(w http.ResponseWriter, r *http.Request) {
	n := 0
	for i := range 500 {
		n += len(fmt.Sprintf("%s/%08d/%v", r.URL.Path, i, 0.5*float64(i))) // smell: formatting
	}
	fmt.Fprint(w, n)
}

var logger = log.New(io.Discard, "", log.LstdFlags|log.Lmicroseconds|log.Lshortfile)

func logStandard(w http.ResponseWriter, r *http.Request) {
	for i := range 100 {
		printfLog(i, r)
	}
	io.WriteString(w, "ok")
}

// verbose keeps the standard logger from its short cut for io.Discard.
type verbose struct{}

func (verbose) Write(b []byte) (int, error) { return len(b), nil }

func init() { logger.SetOutput(verbose{}) }

func printfLog(i int, r *http.Request) {
	logger.Printf("step %d of %s for %s", i, r.URL.Path, r.RemoteAddr) // smell: logging
}

var structured = slog.New(slog.NewJSONHandler(verbose{}, nil))

func logStructured(w http.ResponseWriter, r *http.Request) {
	for i := range 100 {
		structured.Info("step", "i", i, "path", r.URL.Path, "header", r.Header) // smell: logging_structured
	}
	io.WriteString(w, "ok")
}

func speakJSON(w http.ResponseWriter, _ *http.Request) {
	for range 10 {
		b, _ := protojson.Marshal(message) // smell: json-for-messages
		w.Write(b)
	}
}

func seededRandom() http.Handler {
	rand.Seed(1) //nolint:staticcheck // it is the mistake that is looked for
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		sum := 0
		for range 20_000 {
			sum += rand.Intn(100) // smell: locked-random
		}
		fmt.Fprint(w, sum)
	})
}

func contend() http.Handler {
	var mu sync.Mutex
	total := 0
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		mu.Lock()
		for i := range 400_000 {
			total += i ^ total
		}
		mu.Unlock() // smell: lock-contention
		io.WriteString(w, "ok")
	})
}

func sharedRandom() http.Handler {
	var mu sync.Mutex
	source := rand.New(rand.NewSource(1))
	draw := func() int {
		mu.Lock()
		n := 0
		for range 50_000 {
			n += source.Intn(100)
		}
		mu.Unlock() // smell: lock-contention_random
		return n
	}
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, draw()) })
}

type node struct {
	left *node
	name [5]*int
}

func allocate(w http.ResponseWriter, _ *http.Request) {
	var kept *node
	for i := range 20_000 {
		kept = &node{left: kept, name: [5]*int{&i}} // smell: gc-pressure
		if i%1000 == 0 {
			kept = nil
		}
	}
	fmt.Fprint(w, kept != nil)
}

func reflecting(w http.ResponseWriter, _ *http.Request) {
	type order struct{ A, B, C, D int }
	v := reflect.ValueOf(&order{1, 2, 3, 4}).Elem()
	sum := 0
	for range 2_000 {
		_, ok := v.Type().FieldByName("C") // smell: reflection
		if ok {
			sum++
		}
	}
	fmt.Fprint(w, sum)
}

func compile(w http.ResponseWriter, r *http.Request) {
	word := regexp.MustCompile(`^/([a-z]+)(?:/(\d{1,8}))?$`) // smell: regexp-compiled
	fmt.Fprint(w, word.MatchString(r.URL.Path))
}

func deferring(w http.ResponseWriter, _ *http.Request) {
	n := 0
	for range 20_000 {
		defer func() { n++ }() // smell: defer-in-loop
	}
	io.WriteString(w, "ok")
}

func dialing(tls bool) http.Handler {
	say := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "ok") })
	if tls {
		upstream := httptest.NewTLSServer(say)
		transport := upstream.Client().Transport.(*http.Transport)
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			once := transport.Clone()
			defer once.CloseIdleConnections()
			fetch(w, &http.Client{Transport: once}, upstream.URL, r)
		})
	}
	upstream := httptest.NewServer(say)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fetch(w, &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}, upstream.URL, r)
	})
}

func fetch(w http.ResponseWriter, c *http.Client, url string, r *http.Request) {
	req, err := http.NewRequestWithContext(r.Context(), http.MethodGet, url, strings.NewReader(""))
	if err == nil {
		var resp *http.Response
		resp, err = c.Do(req) // smell: connection-churn, connection-churn_tls
		if err == nil {
			defer resp.Body.Close()
			_, err = io.Copy(w, resp.Body)
		}
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadGateway)
	}
}
