package measure

import (
	"testing"
	"time"

	"whittle/internal/fatal"
	"whittle/profile"
	"whittle/profile/collect"
)

// What is saved of a Node process is read again with all of its endpoints and threads.
func TestANodeProfileIsReadAsItWasSaved(t *testing.T) {
	raw := []byte(`{"nodes":[
 {"id":1,"callFrame":{"functionName":"(root)","url":"","lineNumber":-1},"children":[2,3,4]},
 {"id":2,"callFrame":{"functionName":"","scriptId":"7","url":"/none/app.js","lineNumber":2}},
 {"id":3,"callFrame":{"functionName":"next","url":"/srv/node_modules/express/index.js","lineNumber":2}},
 {"id":4,"callFrame":{"functionName":"(idle)","url":"","lineNumber":-1}}],
 "startTime":0,"endTime":6000,"samples":[2,2,4,3,2,3],"timeDeltas":[0,1000,1000,1000,1000,1000]}`)
	p, err := profile.ReadV8CPU(raw, time.Time{})
	fatal.If(t, err)
	p.LabelEndpoints(func(f *profile.Function) string {
		return map[string]string{"/none/app.js": "GET /"}[f.File]
	}, nil)
	p.FitTotal(5500 * time.Microsecond)
	p.AddOther("(other threads)", 7*time.Millisecond, 1)
	p.AddOther("worker: a.js", 2*time.Millisecond, 3)
	p.Samples[len(p.Samples)-1].Endpoint = "GET /"
	p.Requests = map[string]int64{"GET /": 3}
	folder := t.TempDir()
	m := &Measured{Taken: []*collect.Collected{{Profile: p, Raw: raw, Ext: ".cpuprofile"}}}
	fatal.If(t, m.Save(folder))
	got, err := ReadProfile(folder+"/cpu.cpuprofile", nil)
	fatal.If(t, err)
	if got.Total() != p.Total() || got.Functions[0].Name != "handler of GET /" {
		t.Errorf("%d ns, want %d; the handler is %q", got.Total(), p.Total(), got.Functions[0].Name)
	}
	want := p.ByEndpoint()
	for i, e := range got.ByEndpoint() {
		if e != want[i] {
			t.Errorf("%+v, want %+v", e, want[i])
		}
	}
}
