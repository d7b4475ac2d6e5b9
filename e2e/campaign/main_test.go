package main

import (
	"bytes"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"whittle/e2e/campaign/sum"
)

// The command writes its figures into its folder, and of the page the summary alone.
func TestRunWritesFigures(t *testing.T) {
	dir := t.TempDir()
	page := filepath.Join(dir, "page.md")
	if err := os.WriteFile(page, []byte("before\n"+summaryBegin+"old\n"+summaryEnd+"after\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	args := []string{"-families", "terms", "-mutations", "off-by-one", "-seeds", "2", "-faithful", "0", "-gateway", "none", "-measured", "200", "-out", dir, "-doc", page, "-strict"}
	if err := run(t.Context(), args, &out, io.Discard); err != nil {
		t.Fatal(err)
	}
	var f sum.Figures
	text, err := os.ReadFile(filepath.Join(dir, "proof.json"))
	if err != nil || json.Unmarshal(text, &f) != nil {
		t.Fatal(err)
	}
	if f.Families != 1 || f.Mutations != 1 || f.Runs != 2 || f.CaughtShare != 1 || f.CaughtRuns != 2 {
		t.Errorf("%+v", f)
	}
	got, err := os.ReadFile(page)
	if err != nil || !strings.HasPrefix(string(got), "before\n") || !strings.HasSuffix(string(got), summaryEnd+"after\n") ||
		!strings.Contains(string(got), "1 families, 1 mutations") || strings.Contains(string(got), "off-by-one") || strings.Contains(string(got), "old") {
		t.Errorf("%v\n%s", err, got)
	}
	if len(f.Rows) != 1 || f.Rows[0].Name != "off-by-one" {
		t.Errorf("%+v", f.Rows)
	}
}
