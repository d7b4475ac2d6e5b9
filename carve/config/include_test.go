package config

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"whittle"
	"whittle/internal/fatal"
)

// tree writes files into a new folder, and links: a content "-> X" is one to X.
func tree(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, content := range files {
		path := filepath.Join(dir, name)
		fatal.If(t, os.MkdirAll(filepath.Dir(path), 0o750))
		var err error
		if to, link := strings.CutPrefix(content, "-> "); link {
			err = os.Symlink(to, path)
		} else {
			err = os.WriteFile(path, []byte(content), 0o600)
		}
		fatal.If(t, err)
	}
	return dir
}

// TestInclude holds what becomes of the files that a config includes: the names of the
// routes in their order, or the faults, each in its own file.
func TestInclude(t *testing.T) {
	const route, head = "routes: [{match: GET /%s}]\n", "monolith: http://h\n"
	r := func(name string) string { return fmt.Sprintf(route, name) }
	for _, tt := range []struct {
		name  string
		files map[string]string
		want  []string // routes, or with a colon faults and warnings
	}{
		{"a folder, in the order of names", map[string]string{
			"whittle.yaml":  head + r("own") + "include: routes\n",
			"routes/b.yaml": r("b"), "routes/a.yaml": r("a"), "routes/c.yml": r("c"),
			"routes/README.md": "no config", "routes/.hidden.yaml": r("hidden"), "routes/deeper/d.yaml": r("d"),
		}, []string{"GET /own", "GET /a", "GET /b", "GET /c"}},
		{"a pattern over folders", map[string]string{
			"whittle.yaml":              head + "include: services/*/routes.yaml\n",
			"services/shop/routes.yaml": r("shop"), "services/count/routes.yaml": r("count"), "services/count/other.yaml": r("other"),
		}, []string{"GET /count", "GET /shop"}},
		{"a list, and a file only once", map[string]string{
			"whittle.yaml": head + "include: [b.yaml, routes, routes/a.yaml, ./b.yaml]\n",
			"b.yaml":       r("b"), "routes/a.yaml": r("a"),
		}, []string{"GET /b", "GET /a"}},
		{"the config is passed over", map[string]string{
			"whittle.yaml": head + r("own") + "include: '*.yaml'\n", "a.yaml": r("a"),
		}, []string{"GET /own", "GET /a"}},
		{"a volume of Kubernetes", map[string]string{
			"whittle.yaml":            head + "include: routes\n",
			"routes/..2026_11/a.yaml": r("a"), "routes/..data": "-> ..2026_11", "routes/a.yaml": "-> ..data/a.yaml",
		}, []string{"GET /a"}},
		{"no routes in it", map[string]string{"whittle.yaml": head + "include: a.yaml\n", "a.yaml": "routes: []\n"}, nil},
		{"an empty folder", map[string]string{"whittle.yaml": head + "include: routes/*.yaml\n"}, []string{`DIR/whittle.yaml:2:10: include: "routes/*.yaml" includes no file`}},
		{"the environment", map[string]string{
			"whittle.yaml": head + "include: ${WHITTLE_TEST_ROUTES}\n", "elsewhere/a.yaml": r("a"),
		}, []string{"GET /a"}},
		{"its own folder is where its files are", map[string]string{
			"whittle.yaml": head + "include: shop/routes.yaml\n", "shop/count.binpb": string(countDescriptor(t)),
			"shop/routes.yaml": "routes:\n- match: POST /Count\n  candidate: {url: http://c, rpc: {protocol: twirp, descriptor: count.binpb, method: twirp.carved.Carved/Count}}\n",
		}, []string{"POST /Count", `DIR/shop/routes.yaml:2:3: routes[0]: "POST /Count" is not mirrored, so nothing is compared and it never shifts by itself: ` +
			`write safe: true if it changes nothing, or dry_run: {HEADER: VALUE} if that header keeps the candidate from carrying it out`}},
		{"nothing there", map[string]string{"whittle.yaml": head + "include: rutes\n"}, []string{
			"DIR/whittle.yaml:2:10: include: DIR/rutes is no file and no folder; write a folder such as routes, or a pattern such as services/*/routes.yaml",
		}},
		{"no pattern", map[string]string{"whittle.yaml": head + "include: 'a[.yaml'\n"}, []string{
			`DIR/whittle.yaml:2:10: include: "a[.yaml" is not a pattern: syntax error in pattern; write a folder such as routes, or a pattern such as services/*/routes.yaml`,
		}},
		{"a mapping", map[string]string{"whittle.yaml": head + "include: {a: b}\n"}, []string{
			"DIR/whittle.yaml:2:10: include: this is a mapping; write folder, file or pattern, or a list of these",
		}},
		{"faults in their order, in their file", map[string]string{
			"whittle.yaml":  head + r("own") + "include: routes\nlog: {level: loud}\n",
			"routes/a.yaml": "routes:\n  - match: GET a\n", "routes/b.yaml": "routes:\n  - match: GET /b\n  - {match: GET /c,\n     candidate: ftp://c}\n",
		}, []string{
			`DIR/whittle.yaml:4:14: log.level: "loud" is unknown; write one of: debug, info, warn, error`,
			`DIR/routes/a.yaml:2:12: routes[0].match: "GET a": the path does not begin with /, or has a space in it: write POST /Count, or /Count for every method, whatever the host`,
			`DIR/routes/b.yaml:4:17: routes[1].candidate: "ftp://c" is not a URL: write http://HOST:PORT; schemes are http, https, h2c`,
		}},
		{"what belongs into the config", map[string]string{
			"whittle.yaml": head + "include: a.yaml\n", "a.yaml": "monolith: http://h\ninclude: b.yaml\nroutes: []\nroutes: []\n", "b.yaml": "",
		}, []string{
			"DIR/a.yaml:1:1: monolith: does not belong in an included file, which has routes: alone; write it in DIR/whittle.yaml",
			"DIR/a.yaml:2:1: include: does not belong in an included file, which has routes: alone; write it in DIR/whittle.yaml",
			"DIR/a.yaml:4:1: routes: given twice",
		}},
		{"no mapping, nothing, no YAML", map[string]string{
			"whittle.yaml": head + "include: [a.yaml, b.yaml, c.yaml, d.yaml, e.yaml]\n",
			"a.yaml":       "- match: GET /a\n", "b.yaml": "# later\n", "c.yaml": "routes: [\n", "d.yaml": "routes:\n", "e.yaml": "routes: {}\n",
		}, []string{
			"DIR/a.yaml:1:1: this is a list; write routes: and the routes below it",
			"DIR/b.yaml:1:1: the file is empty",
			"DIR/c.yaml:1:9: not readable as YAML: sequence end token ']' not found",
			"DIR/d.yaml:1:9: routes: this is nothing; write a list of routes, or [] for none",
			"DIR/e.yaml:1:9: routes: this is a mapping; write a list of routes, or [] for none",
		}},
		{"routes twice, across files", map[string]string{
			"whittle.yaml": head + "routes: [{match: GET /a}, {match: GET /b}]\ninclude: [x.yaml, y.yaml]\n",
			"x.yaml":       "routes:\n- match: GET /c\n- match: GET /b\n", "y.yaml": "routes:\n- match: GET /c\n- match: GET /{any}/x\n- match: GET /y/{any}\n",
		}, []string{
			`DIR/x.yaml:3:10: routes[1].match: "GET /b" is given twice; the first is routes[1] in line 2`,
			`DIR/y.yaml:2:10: routes[0].match: "GET /c" is given twice; the first is routes[0] in DIR/x.yaml, line 2`,
			`DIR/y.yaml:4:10: routes[2].match: route "GET /y/{any}" and route "GET /{any}/x" match some of the same requests, and neither is the more specific`,
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Setenv("WHITTLE_TEST_ROUTES", "elsewhere")
			dir := tree(t, tt.files)
			f, err := Load(filepath.Join(dir, "whittle.yaml"))
			var got []string
			if err != nil {
				got = strings.Split(strings.ReplaceAll(err.Error(), dir, "DIR"), "\n")
			} else {
				for _, route := range f.Routes {
					got = append(got, route.Name)
				}
				for _, w := range f.Warnings {
					got = append(got, strings.ReplaceAll(w, dir, "DIR"))
				}
			}
			if !slices.Equal(got, tt.want) {
				t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(tt.want, "\n"))
			}
		})
	}
}

// TestIncludeIsBounded: neither many files nor many bytes, and nothing that would block
// whoever reads it.
func TestIncludeIsBounded(t *testing.T) {
	dir := tree(t, map[string]string{
		"whittle.yaml": "monolith: http://h\ninclude: many\n",
		"big.yaml":     "monolith: http://h\ninclude: big\n",
		"pipe.yaml":    "monolith: http://h\ninclude: [pipes, pipes/*, pipes/a.yaml]\n",
	})
	for _, name := range []string{"many", "big", "pipes"} {
		fatal.If(t, os.Mkdir(filepath.Join(dir, name), 0o700))
	}
	for i := range maxIncludes + 1 {
		fatal.If(t, os.WriteFile(filepath.Join(dir, "many", fmt.Sprintf("%04d.yaml", i)), []byte("routes: []"), 0o600))
	}
	for i := range 17 {
		fatal.If(t, os.WriteFile(filepath.Join(dir, "big", fmt.Sprintf("%d.yaml", i)), []byte("routes: [] #"+strings.Repeat(" ", int(mib)-12)), 0o600))
	}
	fatal.If(t, syscall.Mkfifo(filepath.Join(dir, "pipes", "a.yaml"), 0o600))
	for name, want := range map[string]string{
		"whittle.yaml": "more than 1000 files are included",
		"big.yaml":     "the included files have more than 16MiB",
		"pipe.yaml":    "neither a file nor a folder",
	} {
		if _, err := Load(filepath.Join(dir, name)); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v, want %s", name, err, want)
		}
	}
	if _, err := Parse("whittle.yaml", []byte("monolith: http://h\ninclude: /etc\n"), nil); err == nil || !strings.Contains(err.Error(), "was not read from a file") {
		t.Errorf("a config out of nowhere includes: %v", err)
	}
}

// TestLocateInIncluded: what is found later is placed in the file where it stands.
func TestLocateInIncluded(t *testing.T) {
	dir := tree(t, map[string]string{
		"whittle.yaml": "monolith: http://h\nroutes: [{match: GET /own}]\ninclude: routes\n",
		"routes/a.yaml": `routes:
  - match: GET /a
    candidate: http://c
    compare: {kind: statistical,
              per: request.times}
`,
	})
	f, err := Load(filepath.Join(dir, "whittle.yaml"))
	fatal.If(t, err)
	var found error = whittle.Errorf(whittle.Invalid, "no such field").WithField("routes[1].compare.per")
	want := filepath.Join(dir, "routes", "a.yaml") + ":5:20: routes[0].compare.per: no such field"
	for range 2 {
		if found = f.Locate(found); found.Error() != want {
			t.Fatalf("got  %v\nwant %s", found, want)
		}
	}
	var b strings.Builder
	if err := f.Describe(&b); err != nil || !strings.Contains(b.String(), "include    "+filepath.Join(dir, "routes", "a.yaml")+"\n") {
		t.Errorf("%v: %s", err, b.String())
	}
}

// TestSources: the files that make up a config, also of one that is refused, and as it changes.
func TestSources(t *testing.T) {
	for name, tt := range map[string]struct {
		files   map[string]string
		sources []string
	}{
		"no include":    {map[string]string{"w.yaml": "monolith: http://h\n"}, []string{"w.yaml"}},
		"no config":     {nil, []string{"w.yaml"}},
		"no YAML":       {map[string]string{"w.yaml": "a: [\n"}, []string{"w.yaml"}},
		"a folder":      {map[string]string{"w.yaml": "include: r\n", "r/a.yaml": "", "r/b.yaml": ""}, []string{"w.yaml", "r/a.yaml", "r/b.yaml"}},
		"none yet":      {map[string]string{"w.yaml": "include: r\n"}, []string{"w.yaml"}},
		"a pattern":     {map[string]string{"w.yaml": "include: s/*/r.yaml\n", "s/a/r.yaml": "", "s/b/x": ""}, []string{"w.yaml", "s/a/r.yaml"}},
		"a refused one": {map[string]string{"w.yaml": "includes: x\ninclude: [r/*.yaml, 7]\n", "r/a.yaml": "nonsense"}, []string{"w.yaml", "r/a.yaml"}},
		"links":         {map[string]string{"w.yaml": "include: now/r\n", "v1/r/a.yaml": "", "now": "-> v1"}, []string{"w.yaml", "now/r/a.yaml"}},
	} {
		t.Run(name, func(t *testing.T) {
			dir := tree(t, tt.files)
			path := filepath.Join(dir, "w.yaml")
			of := SourcesOf(path)
			now := func() []string {
				files := of.Now()
				for i, path := range files {
					files[i], _ = filepath.Rel(dir, path)
				}
				return files
			}
			if got := now(); !slices.Equal(got, tt.sources) {
				t.Errorf("files %q, want %q", got, tt.sources)
			}
			fatal.If(t, os.WriteFile(path, []byte("monolith: http://another\n"), 0o600))
			if got := now(); !slices.Equal(got, []string{"w.yaml"}) {
				t.Errorf("files %q without an include", got)
			}
		})
	}
}
