package smell

import (
	"slices"
	"strings"

	"whittle/profile"
)

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
			return v.outermost("fmt.*", "log.*", "log/slog.*", "google.golang.org/protobuf/encoding/prototext.*")
		},
	},
	{
		name: "regexp-compiled", title: "a regular expression is compiled for each request", least: 0.02,
		advice: "compile it once, in a package variable",
		match:  atWork("regexp.Compile", "regexp.MustCompile", "regexp.CompilePOSIX", "regexp.MatchString", "regexp.Match", "regexp.compile"),
	},
	{
		name: "template-compiled", title: "a template is compiled for each request", least: 0.05,
		advice: "parse it once, in a package variable, with template.Must",
		match: atWork("text/template/parse.Parse", "text/template.(*Template).Parse", "html/template.(*Template).Parse", "text/template.parseFiles",
			"html/template.parseFiles", "html/template.escapeTemplate"),
	},
	{
		name: "locked-random", title: "one random source with a lock serves all goroutines", least: 0.03,
		advice: "use math/rand/v2, or a *rand.Rand for each goroutine; before Go 1.24 in go.mod, or with GODEBUG randseednop=0, rand.Seed brings the lock back",
		match:  innermost("math/rand.(*lockedSource)*", "math/rand.(*runtimeSource).Seed"),
	},
	{
		name: "connection-churn", title: "connections are opened again and again", least: 0.05,
		advice: "keep connections alive and share one client; read responses to their end and close them; raise MaxIdleConnsPerHost",
		match: func(v *view) (string, bool) {
			return v.first(slices.All(v.whole), called("crypto/tls.(*Conn).clientHandshake", "crypto/tls.(*Conn).serverHandshake", "crypto/tls.(*Conn).handshakeContext",
				"net/http.(*Transport).dialConn", "net.(*Dialer).DialContext", "net.(*sysDialer).dialSerial"))
		},
		asks: func(v *view) bool {
			_, ok := v.find("net/http.(*Client).*", "net/http.(*Transport).*", "google.golang.org/grpc.NewClient", "google.golang.org/grpc.Dial*", "database/sql.Open")
			return ok
		},
	},
	{
		name: "logging", title: "logging costs too much CPU", least: 0.10,
		advice: "check the level before the arguments are made, log less for each request, or sample",
		match:  outermost("log.*", "log/slog.*", "go.uber.org/zap*", "github.com/rs/zerolog*", "github.com/sirupsen/logrus*"),
	},
	{
		name: "printing", title: "something is printed on the hot path", least: 0.05,
		advice: "delete the line, or log it at a level that is off",
		match: func(v *view) (string, bool) {
			if _, ok := v.find("os.(*File).Write*"); !ok {
				return v.outermost("fmt.Print*")
			}
			return v.outermost("fmt.Print*", "fmt.Fprint*")
		},
	},
	{
		name: "json-for-messages", title: "messages travel as JSON although the contract has protobuf", least: 0.10,
		advice: "send application/proto (Twirp, Connect) or speak gRPC: the binary form costs a fraction",
		match:  outermost("google.golang.org/protobuf/encoding/protojson.*", "github.com/golang/protobuf/jsonpb*"),
	},
	{
		name: "formatting", title: "text is formatted on the hot path", least: 0.15,
		advice: "build it with strconv.Append… into a buffer, or not at all if nobody reads it",
		match: func(v *view) (string, bool) {
			if name, ok := intoMemory(v); ok {
				return name, true
			}
			return v.outermost("fmt.Sprint*", "fmt.Errorf", "fmt.Append*")
		},
	},
	{
		name: "lock-contention", title: "goroutines wait for one lock", least: 0.05,
		advice: "hold it shorter, split what it guards, or give each worker its own; the mutex profile shows the holder",
		match: innermost("sync.(*Mutex).lockSlow", "internal/sync.(*Mutex).lockSlow", "sync.(*RWMutex).rUnlockSlow", "sync.runtime_SemacquireMutex*",
			"internal/sync.runtime_SemacquireMutex", "sync.runtime_SemacquireRWMutex*", "internal/sync.(*Mutex).unlockSlow"),
	},
	{
		name: "reflection", title: "reflection on the hot path", least: 0.10,
		advice: "write the code for your types, or generate it",
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
		match:  innermost("runtime.deferproc", "runtime.deferprocat", "runtime.newdefer", "runtime.deferconvert"),
	},
}

// matcher is a rule's match.
type matcher = func(v *view) (seen string, ok bool)

// innermost and outermost match the function from the leaf on, or nearest to the own code,
// that is called as one of the patterns.
func innermost(patterns ...string) matcher {
	return func(v *view) (string, bool) { return v.find(patterns...) }
}

func outermost(patterns ...string) matcher {
	return func(v *view) (string, bool) { return v.outermost(patterns...) }
}

// atWork is innermost, but for what a program does once, as it starts.
func atWork(patterns ...string) matcher {
	return func(v *view) (string, bool) {
		if v.above("runtime.doInit*", "runtime.main") && !v.above("net/http.(*conn).serve") {
			return "", false
		}
		return v.find(patterns...)
	}
}

// intoMemory finds text that the own code has fmt write, but for what its writer does
// where that is no buffer: to send it is no formatting.
func intoMemory(v *view) (string, bool) {
	if len(v.stack) < 2 {
		return "", false
	}
	written, by := v.stack[:len(v.stack)-2], &v.p.Functions[v.stack[len(v.stack)-2].Function]
	_, sent := v.first(slices.All(written), func(f *profile.Function) bool {
		return strings.HasSuffix(f.Name, ").Write") && !strings.HasPrefix(f.Name, "strings.(*Builder)") && !strings.HasPrefix(f.Name, "bytes.(*Buffer)")
	})
	return by.Name, !sent && strings.HasPrefix(by.Name, "fmt.Fprint")
}
