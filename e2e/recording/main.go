// Command recording runs a command and writes what it prints as an animated SVG, in
// which its time is shortened to half a minute. make recording writes the README's.
package main

import (
	"bufio"
	"context"
	"encoding/xml"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"time"
)

const (
	rows, columns = 26, 112
	rowHeight     = 17
	margin        = 14
	lasts         = 30 * time.Second
	// longest is what a pause is shortened to, so that each line has its time.
	longest = 4 * time.Second
)

// line is one line of output, and when it came.
type line struct {
	at   time.Duration
	text string
}

func main() {
	out := flag.String("o", "docs/images/demo.svg", "the file to write")
	flag.Parse()
	if err := run(*out, flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "recording:", err)
		os.Exit(1)
	}
}

func run(out string, argv []string) error {
	if len(argv) == 0 {
		return fmt.Errorf("usage: go run ./e2e/recording -o FILE COMMAND [ARGUMENT…]")
	}
	cmd := exec.CommandContext(context.Background(), argv[0], argv[1:]...)
	cmd.Stderr = os.Stderr
	pipe, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	lines := []line{{0, "$ make demo"}}
	began := time.Now()
	for s := bufio.NewScanner(pipe); s.Scan(); {
		fmt.Println(s.Text())
		lines = append(lines, line{time.Since(began), s.Text()})
	}
	if err := cmd.Wait(); err != nil {
		return err
	}
	f, err := os.Create(out)
	if err != nil {
		return err
	}
	draw(f, lines)
	return f.Close()
}

// draw writes the picture. A line appears at its time; the whole moves up once the
// window is full.
func draw(w io.Writer, lines []line) {
	at := shortened(lines)
	height := rows*rowHeight + 2*margin
	fmt.Fprintf(w, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" font-family="ui-monospace,Menlo,Consolas,monospace" font-size="13">`+"\n", columns*8, height)
	fmt.Fprintf(w, `<rect width="100%%" height="100%%" rx="8" fill="#10141a"/>`+
		`<clipPath id="w"><rect y="%d" width="100%%" height="%d"/></clipPath>`+"\n<g clip-path=\"url(#w)\"><g>\n", margin, rows*rowHeight)
	for i := rows; i < len(lines); i++ {
		fmt.Fprintf(w, `<animateTransform attributeName="transform" type="translate" to="0 %d" begin="%.2fs" dur="0.01s" fill="freeze"/>`+"\n", -(i-rows+1)*rowHeight, at[i].Seconds())
	}
	for i, l := range lines {
		text := []rune(strings.ReplaceAll(l.text, "\t", "    "))
		if len(text) > columns {
			text = append(text[:columns-1], '…')
		}
		fmt.Fprintf(w, `<text x="%d" y="%d" fill="%s" xml:space="preserve" visibility="hidden">`, margin, margin+(i+1)*rowHeight-4, colour(l.text))
		_ = xml.EscapeText(w, []byte(string(text)))
		fmt.Fprintf(w, `<set attributeName="visibility" to="visible" begin="%.2fs" fill="freeze"/></text>`+"\n", at[i].Seconds())
	}
	fmt.Fprintln(w, "</g></g></svg>")
}

// shortened are the lines' times with pauses cut to longest, and the whole to lasts.
func shortened(lines []line) []time.Duration {
	at := make([]time.Duration, len(lines))
	for i := 1; i < len(lines); i++ {
		at[i] = at[i-1] + min(lines[i].at-lines[i-1].at, longest)
	}
	if end := at[len(at)-1]; end > lasts {
		for i := range at {
			at[i] = time.Duration(float64(at[i]) * float64(lasts) / float64(end))
		}
	}
	return at
}

func colour(text string) string {
	switch {
	case strings.HasPrefix(text, "$ "), strings.HasPrefix(text, "== "):
		return "#7cc7ff"
	case strings.Contains(text, "DIFFERENT"), strings.Contains(text, "rolled back"), strings.Contains(text, "wrong_value"):
		return "#ff8f7a"
	case strings.Contains(text, "EQUIVALENT"), strings.Contains(text, "errors among them: 0"):
		return "#8fe388"
	}
	return "#d7dde5"
}
