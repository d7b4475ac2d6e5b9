package jsonscan

import (
	"bytes"
	"encoding/json"
	"fmt"
	"testing"
)

func list() []byte {
	var b bytes.Buffer
	b.WriteByte('[')
	for i := range 200 {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, `{"id":%d,"name":"item number %d","price":%d.50,"tags":["red","large"],"at":"2026-11-21T10:11:12Z","url":"https://example.com/items/%d"}`, i, i, i, i)
	}
	b.WriteByte(']')
	return b.Bytes()
}

// BenchmarkScan reads 200 objects; encoding/json only checks the same.
func BenchmarkScan(b *testing.B) {
	text := list()
	b.Run("next", func(b *testing.B) {
		b.SetBytes(int64(len(text)))
		b.ReportAllocs()
		var s Scanner
		for b.Loop() {
			s.Reset(text, 0, MaxDepth)
			for s.Next() != None {
			}
			if s.Err() != nil {
				b.Fatal(s.Err())
			}
		}
	})
	b.Run("skip", func(b *testing.B) {
		b.SetBytes(int64(len(text)))
		b.ReportAllocs()
		for b.Loop() {
			if err := Check(text, MaxDepth); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("encoding-json-valid", func(b *testing.B) {
		b.SetBytes(int64(len(text)))
		for b.Loop() {
			if !json.Valid(text) {
				b.Fatal("not JSON")
			}
		}
	})
}

// BenchmarkShort checks a body of one member, as hot endpoints are called with.
func BenchmarkShort(b *testing.B) {
	text := []byte(`{"i32": 10000000}`)
	b.ReportAllocs()
	for b.Loop() {
		var s Scanner
		s.Reset(text, 0, 1)
		for s.Next() != None {
		}
		if s.Finish() != nil {
			b.Fatal(s.Err())
		}
	}
}

// BenchmarkDense reads a list of many short tokens.
func BenchmarkDense(b *testing.B) {
	var list bytes.Buffer
	for i := range 50 {
		fmt.Fprintf(&list, `,{"id":%[1]d,"name":"item number %[1]d","price":%[1]d.50,"tags":["a","b"],"stock":true}`, i)
	}
	text := []byte("[" + list.String()[1:] + "]")
	b.SetBytes(int64(len(text)))
	var s Scanner
	for b.Loop() {
		s.Reset(text, 0, MaxDepth)
		for s.Next() != None {
		}
		if s.Err() != nil {
			b.Fatal(s.Err())
		}
	}
}
