package work

import (
	"bytes"
	"html/template"
	"io"
	"math/rand/v2"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"google.golang.org/protobuf/proto"
)

// Cleans are the twin of each mistake: the same done as one would wish it done.
var Cleans = map[string]func() string{
	"printed-message":    measureMessage,
	"printing":           stepQuietly,
	"formatting":         appendNumbers,
	"logging":            logOnce,
	"logging_structured": logOnceStructured,
	"json-for-messages":  speakBinary,
	"locked-random":      drawFree,
	"lock-contention":    countFree,
	"gc-pressure":        reuse,
	"reflection":         readFields,
	"regexp-compiled":    match,
	"template-compiled":  executePage,
	"defer-in-loop":      deferOnce,
	"connection-churn":   ask,
}

var compiledPage = template.Must(template.New("page").Parse(page))

func executePage() string {
	var out strings.Builder
	for range 50 {
		if err := compiledPage.Execute(&out, pageNames); err != nil {
			return err.Error()
		}
	}
	return out.String()
}

func measureMessage() string { return strconv.Itoa(proto.Size(message)) }

func stepQuietly() string {
	n := 0
	for i := range 30 {
		n += i
	}
	return strconv.Itoa(n)
}

func appendNumbers() string {
	var buf [32]byte
	n := 0
	for i := range 500 {
		b := strconv.AppendInt(buf[:0], int64(i), 10)
		n += len(strconv.AppendFloat(b, 0.5*float64(i), 'g', -1, 64))
	}
	return strconv.Itoa(n)
}

// handle is work that is worth a line in the log.
func handle() int {
	n := 0
	for i := range 200_000 {
		n += i ^ n
	}
	return n
}

func logOnce() string {
	n := handle()
	standard.Printf("handled %d of %s", n, "work")
	return strconv.Itoa(n)
}

func logOnceStructured() string {
	n := handle()
	structured.Info("handled", "n", n, "of", "work")
	return strconv.Itoa(n)
}

func speakBinary() string {
	n := 0
	for range 20 {
		b, err := proto.Marshal(message)
		if err != nil {
			return err.Error()
		}
		n += len(b)
	}
	return strconv.Itoa(n)
}

func drawFree() string {
	sum := 0
	for range 20_000 {
		sum += rand.IntN(100)
	}
	return strconv.Itoa(sum)
}

var counted atomic.Int64

func countFree() string {
	n := 0
	for i := range 400_000 {
		n += i ^ n
	}
	counted.Add(int64(n))
	return "ok"
}

var buffers = sync.Pool{New: func() any { return new(bytes.Buffer) }}

func reuse() string {
	b := buffers.Get().(*bytes.Buffer)
	defer buffers.Put(b)
	b.Reset()
	for i := range 20_000 {
		b.WriteByte(byte(i))
	}
	return strconv.Itoa(b.Len())
}

func readFields() string {
	o := order{1, 2, 3, 4}
	sum := 0
	for range 2_000 {
		sum += o.C
	}
	return strconv.Itoa(sum)
}

var word = regexp.MustCompile(`^/([a-z]+)(?:/(\d{1,8}))?$`)

func match() string {
	found := 0
	for i := range 20 {
		if word.MatchString("/work/" + strconv.Itoa(i)) {
			found++
		}
	}
	return strconv.Itoa(found)
}

func deferOnce() (s string) {
	var b strings.Builder
	defer func() { s = strconv.Itoa(b.Len()) }()
	b.Grow(20_000)
	for range 20_000 {
		b.WriteByte('a')
	}
	return ""
}

var client = http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 16}}

func ask() string {
	resp, err := client.Get(upstream.URL)
	if err != nil {
		return err.Error()
	}
	defer resp.Body.Close()
	b, _ := io.ReadAll(resp.Body)
	return string(b)
}
