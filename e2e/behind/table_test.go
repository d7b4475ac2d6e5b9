package behind

import (
	"fmt"
	"os"
	"strings"
	"time"
)

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

func table() string {
	var b strings.Builder
	b.WriteString("| proxy | whittle is | reads | failed | slowest | writes | without a response |\n|---|---|---|---|---|---|---|\n")
	for _, f := range fronts {
		for _, p := range rows[f.name] {
			fmt.Fprintf(&b, "| %s | %s | %d | %d | %s | %d | %d |\n", f.name, p.name, p.reads, p.failed, p.slowest.Round(10*time.Millisecond), p.writes, p.undone)
		}
	}
	return b.String()
}
