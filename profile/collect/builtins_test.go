package collect

import (
	"os"
	"path/filepath"
	"testing"

	"whittle/profile"
)

func TestBuiltinsComeFromTheSource(t *testing.T) {
	path := filepath.Join(t.TempDir(), "app.js")
	const source = `app.post('/Count', (req, res) => {
  const word = new RegExp(req.body.word);
  res.end(JSON.stringify(JSON.parse(word)));
  myRegExp(word);
});
`
	if err := os.WriteFile(path, []byte(source), 0o600); err != nil {
		t.Fatal(err)
	}
	p := &profile.Profile{Kind: profile.CPU, Runtime: profile.Node, Functions: []profile.Function{
		{Name: "(anonymous)", File: path, Line: 1}, {Name: "handle", File: path, Line: 1, Owner: profile.Library},
	}}
	for _, line := range []int32{2, 3, 4, 0, 99} {
		p.Samples = append(p.Samples, profile.Sample{Value: 1, Stack: []profile.Frame{{Function: 0, Line: line}, {Function: 1}}})
	}
	p.Samples = append(p.Samples, profile.Sample{Value: 1, Stack: []profile.Frame{{Function: 1, Line: 2}, {Function: 0}}}, profile.Sample{Value: 1})
	ReadSources(p)
	for i, want := range []string{"RegExp", "JSON.stringify", "handler of POST /Count", "handler of POST /Count", "handler of POST /Count", "handle"} {
		s := p.Samples[i]
		if got := p.Functions[s.Stack[0].Function]; got.Name != want || s.Endpoint != "POST /Count" {
			t.Errorf("sample %d is at %q of %q, want %q", i, got.Name, s.Endpoint, want)
		}
	}
	if f := p.Functions[p.Samples[1].Stack[0].Function]; f.Category != profile.Encoding || f.Owner != profile.System {
		t.Errorf("%+v", f)
	}
}
