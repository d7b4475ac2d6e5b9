// Package behind runs the built whittle behind real proxies, by the configurations of
// examples/ themselves: one path through whittle, with the monolith as its backup.
package behind

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"whittle/e2e/process"
)

var (
	gateway string
	doc     = flag.String("doc", "", "a page, such as docs/behind.md, whose table is written anew")
)

func TestMain(m *testing.M) {
	process.Main(m, func() error {
		built, err := process.Build("./cmd/whittle")
		gateway = filepath.Join(built, "whittle")
		return err
	}, writeTable)
}

// rows are what users saw, by proxy, where nothing failed.
var rows = map[string][]phase{}

const tableEnds = "<!-- end of table -->\n"

// writeTable writes the tables of a page anew that this run has made: for each proxy what
// users saw.
func writeTable() {
	if *doc == "" {
		return
	}
	page, err := os.ReadFile(*doc)
	if err == nil && len(rows) > 0 {
		page = replaced(page, "<!-- table: go test ./e2e/behind -count=1 -args -doc ../../docs/behind.md -->\n", table())
	}
	if err == nil && len(latencyRows) > 0 {
		page = replaced(page, "<!-- table: go test ./e2e/behind -count=1 -run 'Sink|Observer' -args -doc ../../docs/behind.md -->\n", latencyTable())
	}
	if err == nil {
		err = os.WriteFile(*doc, page, 0o600)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
}

// replaced is a page with another table behind a mark.
func replaced(page []byte, begins, table string) []byte {
	before, rest, _ := strings.Cut(string(page), begins)
	_, after, _ := strings.Cut(rest, tableEnds)
	return []byte(before + begins + table + tableEnds + after)
}

// table has a row for each proxy: its slowest read, and how many writes had no response.
func table() string {
	var all []measured
	for _, f := range fronts {
		if rows[f.name] != nil {
			all = append(all, measured{f.name, rows[f.name]})
		}
	}
	return tableOf(all, func(p phase) string {
		return fmt.Sprintf("%s, %d of %d", p.slowest.Round(10*time.Millisecond), p.undone, p.writes)
	})
}

// measured are the phases of a proxy.
type measured struct {
	name   string
	phases []phase
}

// tableOf has a row for each proxy and a column for each phase.
func tableOf(all []measured, cell func(phase) string) string {
	var b strings.Builder
	line := func(cells ...string) { b.WriteString("| " + strings.Join(cells, " | ") + " |\n") }
	for i, one := range all {
		names, cells := []string{"proxy"}, []string{one.name}
		for _, p := range one.phases {
			names, cells = append(names, p.name), append(cells, cell(p))
		}
		if i == 0 {
			line(names...)
			b.WriteString("|" + strings.Repeat("---|", len(names)) + "\n")
		}
		line(cells...)
	}
	return b.String()
}
