// Package work has the mistakes, and their twins.
package work

import (
	"fmt"
	"html/template"
	"io"
	"log"
	"log/slog"
	"math/rand"
	"net/http"
	"net/http/httptest"
	"os"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"sync"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/types/known/structpb"
)

// Faults are one mistake each, by the smell's name; after a "_" stands which form of
// it. The line that is to be named ends in "// smell: NAME".
var Faults = map[string]func() string{
	"printed-message":    printMessage,
	"printing":           printLines,
	"formatting":         format,
	"logging":            logStandard,
	"logging_structured": logStructured,
	"json-for-messages":  speakJSON,
	"locked-random":      drawShared,
	"lock-contention":    contend,
	"gc-pressure":        allocate,
	"reflection":         reflecting,
	"regexp-compiled":    compile,
	"template-compiled":  compilePage,
	"defer-in-loop":      deferring,
	"connection-churn":   dial,
}

// message is what a small response between services looks like.
var message = func() *structpb.Struct {
	m, err := structpb.NewStruct(map[string]any{"id": "ab12", "status": "FINISHED", "position": 3.0, "tags": []any{"a", "b", "c"}})
	if err != nil {
		panic(err)
	}
	return m
}()

// nowhere takes what is written; loggers do not know that it does nothing.
type nowhere struct{}

func (nowhere) Write(b []byte) (int, error) { return len(b), nil }

var (
	standard   = log.New(nowhere{}, "", log.LstdFlags|log.Lshortfile)
	structured = slog.New(slog.NewJSONHandler(nowhere{}, nil))
	upstream   = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "ok") }))
)

func printMessage() string {
	return strconv.Itoa(len(fmt.Sprintf("%v", message))) // smell: printed-message
}

func printLines() string {
	for i := range 30 {
		fmt.Fprintln(os.Stderr, "step", i) // smell: printing
	}
	return "ok"
}

func format() string {
	n := 0
	for i := range 500 {
		n += len(fmt.Sprintf("%08d/%v", i, 0.5*float64(i))) // smell: formatting
	}
	return strconv.Itoa(n)
}

func logStandard() string {
	for i := range 200 {
		standard.Printf("step %d of %s", i, "work") // smell: logging
	}
	return "ok"
}

func logStructured() string {
	for i := range 200 {
		structured.Info("step", "i", i, "of", "work") // smell: logging_structured
	}
	return "ok"
}

func speakJSON() string {
	n := 0
	for range 20 {
		b, err := protojson.Marshal(message) // smell: json-for-messages
		if err != nil {
			return err.Error()
		}
		n += len(b)
	}
	return strconv.Itoa(n)
}

func init() { rand.Seed(1) }

func drawShared() string {
	sum := 0
	for range 20_000 {
		sum += rand.Intn(100) // smell: locked-random
	}
	return strconv.Itoa(sum)
}

var shared struct {
	sync.Mutex
	total int
}

func contend() string {
	shared.Lock()
	for i := range 400_000 {
		shared.total += i ^ shared.total
	}
	shared.Unlock() // smell: lock-contention
	return "ok"
}

type node struct {
	left *node
	name [5]*int
}

func allocate() string {
	var kept *node
	for i := range 20_000 {
		kept = &node{left: kept, name: [5]*int{&i}} // smell: gc-pressure
		if i%1000 == 0 {
			kept = nil
		}
	}
	return strconv.FormatBool(kept != nil)
}

type order struct{ A, B, C, D int }

func reflecting() string {
	v := reflect.ValueOf(&order{1, 2, 3, 4}).Elem()
	sum := 0
	for range 2_000 {
		if _, ok := v.Type().FieldByName("C"); ok { // smell: reflection
			sum++
		}
	}
	return strconv.Itoa(sum)
}

func compile() string {
	found := 0
	for i := range 20 {
		word := regexp.MustCompile(`^/([a-z]+)(?:/(\d{1,8}))?$`) // smell: regexp-compiled
		if word.MatchString("/work/" + strconv.Itoa(i)) {
			found++
		}
	}
	return strconv.Itoa(found)
}

// page is a template of a small page.
const page = `<ul>{{range .}}<li>{{.}}</li>{{end}}</ul>`

func compilePage() string {
	var out strings.Builder
	for range 5 {
		compiled := template.Must(template.New("page").Parse(page)) // smell: template-compiled
		if err := compiled.Execute(&out, pageNames); err != nil {
			return err.Error()
		}
	}
	return out.String()
}

var pageNames = []string{"one", "two", "three"}

func deferring() (s string) {
	n := 0
	for range 20_000 {
		defer func() { n++ }() // smell: defer-in-loop
	}
	return "ok"
}

func dial() string {
	c := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := c.Get(upstream.URL) // smell: connection-churn
	if err != nil {
		return err.Error()
	}
	defer resp.Body.Close()
	b, _ := io.ReadAll(resp.Body)
	return string(b)
}
