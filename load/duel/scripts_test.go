package duel

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"whittle/internal/fatal"
	"whittle/load"
	"whittle/load/plan"
)

// scripted is a plan whose script fails where the response is "bad".
const scripted = `<jmeterTestPlan version="1.2"><hashTree><TestPlan testname="p"/><hashTree>
<ThreadGroup testname="g"><stringProp name="ThreadGroup.num_threads">1</stringProp><elementProp name="ThreadGroup.main_controller" elementType="LoopController"><stringProp name="LoopController.loops">3</stringProp></elementProp></ThreadGroup><hashTree>
<HTTPSamplerProxy testname="s"><stringProp name="HTTPSampler.path">/x</stringProp><stringProp name="HTTPSampler.method">GET</stringProp></HTTPSamplerProxy><hashTree>
<JSR223PostProcessor testname="look"><stringProp name="scriptLanguage">groovy</stringProp><stringProp name="script">if (prev.getResponseDataAsString() == "bad") throw new Exception("it is bad")</stringProp></JSR223PostProcessor><hashTree/>
</hashTree></hashTree></hashTree></hashTree></jmeterTestPlan>`

func scriptedPlan(t *testing.T) *plan.Plan {
	t.Helper()
	path := filepath.Join(t.TempDir(), "p.jmx")
	fatal.If(t, os.WriteFile(path, []byte(scripted), 0o600))
	p, err := load.Workload{Plan: path, Target: "http://127.0.0.1:1"}.Read()
	fatal.If(t, err)
	return p
}

func says(t *testing.T, text string) *httptest.Server {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, text) }))
	t.Cleanup(srv.Close)
	return srv
}

// Scripts that fail are said of the target at which they did, their counts added up over
// the blocks.
func TestADuelSaysWhichScriptsFailed(t *testing.T) {
	t.Parallel()
	c, err := Duel{
		Plan: scriptedPlan(t), A: Side{Target: says(t, "good").URL}, B: Side{Target: says(t, "bad").URL},
		Length: 300 * time.Millisecond, Block: 100 * time.Millisecond, Warmup: 100 * time.Millisecond, Options: load.Options{MaxLate: time.Minute},
	}.Run(t.Context())
	fatal.If(t, err)
	if len(c.A.ScriptFailures) != 0 || len(c.B.ScriptFailures) != 1 || c.B.ScriptFailures[0].Count != c.B.Completed || c.B.Completed == 0 {
		t.Errorf("A %+v, B %+v of %d", c.A.ScriptFailures, c.B.ScriptFailures, c.B.Completed)
	}
	saidOfB(t, c.WriteSummary, "")
}

func saidOfB(t *testing.T, write func(io.Writer) error, times string) {
	t.Helper()
	var b strings.Builder
	fatal.If(t, write(&b))
	text := b.String()
	if strings.Contains(text, "SCRIPT FAILED, target A") || !strings.Contains(text, "SCRIPT FAILED, target B: JSR223PostProcessor") ||
		!strings.Contains(text, "p.jmx:4)"+times) || !strings.Contains(text, "it is bad") {
		t.Errorf("it says %.3000s", text)
	}
}
