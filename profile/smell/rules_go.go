package smell

import "strings"

// goRules stand from the particular to the general: a message that is printed
// is not also reflection, nor formatting.
var goRules = []rule{
	{
		name: "printed-message", title: "a protobuf message is printed or formatted", least: 0.03,
		advice: "delete the line, or log a field or two; %v of a message walks all of it by reflection",
		match: func(v *view) (string, bool) {
			if _, ok := v.find("google.golang.org/protobuf/encoding/prototext.*", "google.golang.org/protobuf/internal/impl.Export.MessageStringOf",
				"github.com/golang/protobuf/proto.(*TextMarshaler)*", "google.golang.org/protobuf/internal/encoding/text.*"); !ok {
				return "", false
			}
			return outermost(v, "fmt.*", "log.*", "log/slog.*", "google.golang.org/protobuf/encoding/prototext.*")
		},
	},
	{
		name: "regexp-compiled", title: "a regular expression is compiled for each request", least: 0.02,
		advice: "compile it once, in a package variable",
		match: func(v *view) (string, bool) {
			if v.above("runtime.doInit*", "runtime.main") && !v.above("net/http.(*conn).serve") {
				return "", false
			}
			return v.find("regexp.Compile", "regexp.MustCompile", "regexp.CompilePOSIX", "regexp.MatchString", "regexp.Match", "regexp.compile")
		},
	},
	{
		name: "template-compiled", title: "a template is compiled for each request", least: 0.05,
		advice: "parse it once, in a package variable, with template.Must",
		match: func(v *view) (string, bool) {
			if v.above("runtime.doInit*", "runtime.main") && !v.above("net/http.(*conn).serve") {
				return "", false
			}
			return v.find("text/template/parse.Parse", "text/template.(*Template).Parse", "html/template.(*Template).Parse", "text/template.parseFiles", "html/template.parseFiles", "html/template.escapeTemplate")
		},
	},
	{
		name: "locked-random", title: "one random source with a lock serves all goroutines", least: 0.03,
		advice: "use math/rand/v2's functions, or a *rand.Rand of each goroutine's own; rand.Seed brings the lock back where go.mod names a Go before 1.24, or GODEBUG has randseednop=0",
		match: func(v *view) (string, bool) {
			return v.find("math/rand.(*lockedSource)*", "math/rand.(*runtimeSource).Seed")
		},
	},
	{
		name: "connection-churn", title: "connections are opened again and again", least: 0.05,
		advice: "keep connections alive and share one client; read responses to their end and close them; raise MaxIdleConnsPerHost",
		match: func(v *view) (string, bool) {
			return find(v.p, v.whole, []string{
				"crypto/tls.(*Conn).clientHandshake", "crypto/tls.(*Conn).serverHandshake", "crypto/tls.(*Conn).handshakeContext",
				"net/http.(*Transport).dialConn", "net.(*Dialer).DialContext", "net.(*sysDialer).dialSerial",
			})
		},
		asks: func(v *view) bool {
			_, ok := v.find("net/http.(*Client).*", "net/http.(*Transport).*", "google.golang.org/grpc.NewClient", "google.golang.org/grpc.Dial*", "database/sql.Open")
			return ok
		},
	},
	{
		name: "logging", title: "logging costs too much CPU", least: 0.10,
		advice: "check the level before the arguments are made, log less for each request, or sample",
		match: func(v *view) (string, bool) {
			return outermost(v, "log.*", "log/slog.*", "go.uber.org/zap*", "github.com/rs/zerolog*", "github.com/sirupsen/logrus*")
		},
	},
	{
		name: "printing", title: "something is printed on the hot path", least: 0.05,
		advice: "delete the line, or log it at a level that is off",
		match: func(v *view) (string, bool) {
			if _, ok := v.find("os.(*File).Write*"); !ok {
				return outermost(v, "fmt.Print*")
			}
			return outermost(v, "fmt.Print*", "fmt.Fprint*")
		},
	},
	{
		name: "json-for-messages", title: "messages travel as JSON where the contract has protobuf", least: 0.10,
		advice: "send application/proto (Twirp, Connect) or speak gRPC: the binary form costs a fraction",
		match: func(v *view) (string, bool) {
			return outermost(v, "google.golang.org/protobuf/encoding/protojson.*", "github.com/golang/protobuf/jsonpb*")
		},
	},
	{
		name: "formatting", title: "text is formatted on the hot path", least: 0.15,
		advice: "build it with strconv.Append… into a buffer, or not at all where nobody reads it",
		match: func(v *view) (string, bool) {
			if name, ok := intoMemory(v); ok {
				return name, true
			}
			return outermost(v, "fmt.Sprint*", "fmt.Errorf", "fmt.Append*")
		},
	},
	{
		name: "lock-contention", title: "goroutines wait for one lock", least: 0.05,
		advice: "hold it shorter, split what it guards, or give each worker its own; see the mutex profile for who holds it",
		match: func(v *view) (string, bool) {
			return v.find("sync.(*Mutex).lockSlow", "internal/sync.(*Mutex).lockSlow", "sync.(*RWMutex).rUnlockSlow", "sync.runtime_SemacquireMutex*",
				"internal/sync.runtime_SemacquireMutex", "sync.runtime_SemacquireRWMutex*", "internal/sync.(*Mutex).unlockSlow")
		},
	},
	{
		name: "reflection", title: "reflection on the hot path", least: 0.10,
		advice: "write the code for the types that there are, or generate it",
		match: func(v *view) (string, bool) {
			if _, ok := v.find("encoding/*", "fmt.*", "google.golang.org/protobuf/*", "text/template*", "html/template*", "database/sql*"); ok {
				return "", false
			}
			return v.find("reflect.*")
		},
	},
	{
		name: "defer-in-loop", title: "a defer or closure is made in a hot loop", least: 0.04,
		advice: "move the loop's body into a function of its own, or release at the end of each turn without defer",
		match: func(v *view) (string, bool) {
			return v.find("runtime.deferproc", "runtime.deferprocat", "runtime.newdefer", "runtime.deferconvert")
		},
	},
}

// intoMemory finds text that the own code has fmt write, but for what its writer does
// where that is no buffer: to send it is no formatting.
func intoMemory(v *view) (string, bool) {
	called := len(v.stack) - 2
	if called < 0 {
		return "", false
	}
	name, ok := find(v.p, v.stack[called:called+1], []string{"fmt.Fprint*"})
	for _, f := range v.stack[:max(called, 0)] {
		writer := v.p.Functions[f.Function].Name
		if strings.HasSuffix(writer, ").Write") && !strings.HasPrefix(writer, "strings.(*Builder)") && !strings.HasPrefix(writer, "bytes.(*Buffer)") {
			return "", false
		}
	}
	return name, ok
}

// outermost gives the function nearest to the own code that fits a pattern: the
// one that the own code called.
func outermost(v *view, patterns ...string) (string, bool) {
	for i := len(v.stack) - 1; i >= 0; i-- {
		if name, ok := find(v.p, v.stack[i:i+1], patterns); ok {
			return name, true
		}
	}
	return "", false
}
