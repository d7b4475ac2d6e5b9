package run

import (
	"bytes"
	"os"
	"regexp"
	"strconv"
	"sync"
)

// heard is what a gateway's processes say, in a file that they hand on to each other.
// The last of it is kept, and what counts in it is counted.
type heard struct {
	name string

	mu   sync.Mutex // guards the following
	file *os.File
	at   int64
	last []byte
	// panicked says that there was a panic or a data race.
	panicked bool
	// refused counts refused configs, listening the processes that said so.
	refused, listening int
	// took are the processes that took over.
	took []int
}

const (
	// mostHeard is kept of the end, in bytes.
	mostHeard = 64 << 10
	// mostWritten bounds the file.
	mostWritten = 16 << 20
)

func hear(name string) (*heard, error) {
	f, err := os.OpenFile(name, os.O_RDWR|os.O_APPEND|os.O_CREATE, 0o600)
	return &heard{name: name, file: f}, err
}

var tookOver = regexp.MustCompile(`msg="took over" pid=(\d+)`)

// read takes in what is new.
func (h *heard) read() {
	b := make([]byte, 256<<10)
	for {
		n, _ := h.file.ReadAt(b, h.at) // what could not be read comes with a later call
		whole := bytes.LastIndexByte(b[:n], '\n') + 1
		if whole == 0 {
			return
		}
		text := b[:whole]
		h.at += int64(whole)
		for _, word := range []string{"panic", "DATA RACE", "goroutine "} {
			h.panicked = h.panicked || bytes.Contains(text, []byte(word))
		}
		h.refused += bytes.Count(text, []byte("config refused"))
		h.listening += bytes.Count(text, []byte("listening public="))
		for _, m := range tookOver.FindAllSubmatch(text, -1) {
			pid, _ := strconv.Atoi(string(m[1])) // digits
			h.took = append(h.took, pid)
		}
		if h.last = append(h.last, text...); len(h.last) > 2*mostHeard {
			h.last = append(h.last[:0], h.last[len(h.last)-mostHeard:]...)
		}
	}
}

// text is the last of it; panicked says that it had what must not be.
func (h *heard) text() (last string, panicked bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.read()
	return string(h.last), h.panicked
}

// counts are the refused configs, the processes that listen, and those that took over.
func (h *heard) counts() (refused, listening int, took []int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.read()
	return h.refused, h.listening, h.took
}

// shorten empties the file where it is long. What is written in between is lost.
func (h *heard) shorten() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.read(); h.at > mostWritten && h.file.Truncate(0) == nil {
		h.at = 0
	}
}

func (h *heard) close() { h.file.Close() }
