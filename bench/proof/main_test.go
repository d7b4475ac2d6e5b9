package main

import (
	"bytes"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"whittle/bench/proof/campaign"
)

// The command writes its figures and the page's tables, and nothing else of the
// page.
func TestRunWritesFiguresAndTables(t *testing.T) {
	dir := t.TempDir()
	page := filepath.Join(dir, "page.md")
	if err := os.WriteFile(page, []byte("before\n"+tablesBegin+"old\n"+tablesEnd+"after\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	args := []string{"-families", "terms", "-mutations", "off-by-one", "-seeds", "2", "-faithful", "0", "-gateway", "none", "-measured", "200", "-out", dir, "-doc", page, "-strict"}
	if err := run(t.Context(), args, &out, io.Discard); err != nil {
		t.Fatal(err)
	}
	var f campaign.Figures
	text, err := os.ReadFile(filepath.Join(dir, "proof.json"))
	if err != nil || json.Unmarshal(text, &f) != nil {
		t.Fatal(err)
	}
	if f.Families != 1 || f.Mutations != 1 || f.Runs != 2 || f.CaughtShare != 1 || f.CaughtRuns != 2 {
		t.Errorf("%+v", f)
	}
	got, err := os.ReadFile(page)
	if err != nil || !strings.HasPrefix(string(got), "before\n") || !strings.HasSuffix(string(got), tablesEnd+"after\n") ||
		!strings.Contains(string(got), "| `off-by-one` |") || strings.Contains(string(got), "old") {
		t.Errorf("%v\n%s", err, got)
	}
}

func TestFlagsAreBounded(t *testing.T) {
	for _, args := range []string{"-seeds 0", "-families nobody", "-mutations nothing", "-requests 5", "-faithful -1", "-nothing"} {
		if _, err := parse(strings.Fields(args), io.Discard); err == nil {
			t.Errorf("%s was taken", args)
		}
	}
	if err := serve(t.Context(), []string{"serve", "terms"}, io.Discard, io.Discard); err == nil {
		t.Error("serve without a seed was taken")
	}
}
