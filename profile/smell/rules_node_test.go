package smell_test

import (
	"strings"
	"testing"
	"time"

	"whittle/internal/fatal"
	"whittle/profile"
	"whittle/profile/smell"
)

// nodeStacks makes a Node profile of stacks, leaf first, of "function@script", with 100
// samples of each. "pool" is what other threads do.
func nodeStacks(stacks ...string) *profile.Profile {
	p := &profile.Profile{Kind: profile.CPU, Runtime: profile.Node}
	index := map[string]int32{}
	at := time.Duration(0)
	for _, text := range stacks {
		if text == "pool" {
			p.AddOther("(other threads: libuv's pool)", 3*time.Second, 300)
			continue
		}
		var stack []profile.Frame
		for _, name := range strings.Split(text, " < ") {
			n, ok := index[name]
			if !ok {
				n = int32(len(p.Functions))
				index[name] = n
				function, file, _ := strings.Cut(name, "@")
				f := profile.Function{Name: function, File: file, Owner: profile.OwnerOfScript(file)}
				if f.Owner == profile.Own {
					f.Line = 7
				}
				p.Functions = append(p.Functions, f)
			}
			stack = append(stack, profile.Frame{Function: n, Line: int32(p.Functions[n].Line)})
		}
		for range 100 {
			p.Samples = append(p.Samples, profile.Sample{Stack: stack, Value: 1e7, Objects: 1, At: at})
			at += 10 * time.Millisecond
		}
		p.Samples = append(p.Samples, profile.Sample{Stack: stack[len(stack)-1:], Value: 1e6, Objects: 1, At: at})
	}
	p.Duration = at
	return p
}

// The stacks are those that V8 shows in Node 18 to 25.
func TestRulesOfNode(t *testing.T) {
	const own = " < handle@/srv/app.js"
	for stack, want := range map[string]string{
		"run@ < pbkdf2Sync@node:internal/crypto/pbkdf2":                                                    "sync-crypto: callback",
		"run@ < scryptSync@node:internal/crypto/scrypt":                                                    "sync-crypto: callback",
		"run@ < argon2Sync@node:internal/crypto/argon2":                                                    "sync-crypto: callback",
		"run@ < checkPrimeSync@node:internal/crypto/random":                                                "sync-crypto: callback",
		"run@ < generateKeyPairSync@node:internal/crypto/keygen":                                           "sync-crypto: callback",
		"privateEncrypt@ < (anonymous)@node:internal/crypto/cipher":                                        "sync-crypto: callback",
		"hashSync@/srv/node_modules/bcrypt/bcrypt.js":                                                      "sync-crypto: callback",
		"run@ < randomFillSync@node:internal/crypto/random < randomBytes@node:internal/crypto/random":      "sync-crypto: only what",
		"run@ < randomFillSync@node:internal/crypto/random < randomUUID@node:internal/crypto/random":       "",
		"sign@ < sign@node:internal/crypto/sig":                                                            "sync-crypto: callback",
		"verify@ < verify@node:internal/crypto/sig":                                                        "sync-crypto: callback",
		"sign@ < sign@node:internal/crypto/sig < sign@/srv/node_modules/jwa/index.js":                      "sync-crypto: callback",
		"run@ < signOneShot@node:internal/crypto/sig":                                                      "sync-crypto: callback",
		"run@ < signOneShot@node:internal/crypto/sig < fn@node:internal/util":                              "",
		"statelessDH@ < diffieHellman@node:internal/crypto/diffiehellman":                                  "sync-crypto: callback",
		"generateKeys@ < generateKeys@node:internal/crypto/diffiehellman":                                  "sync-crypto: callback",
		"init@ < createPrivateKey@node:internal/crypto/keys":                                               "key-parsed: once",
		"update@ < update@node:internal/crypto/hash":                                                       "",
		"oneShotDigest@ < hash@node:internal/crypto/hash":                                                  "",
		"update@ < update@node:internal/crypto/cipher":                                                     "",
		"writeSync@ < processChunkSync@node:zlib < zlibBufferSync@node:zlib < syncBufferWrapper@node:zlib": "sync-call: thread pool",
		"write@ < processChunk@node:zlib < asyncBufferWrapper@node:zlib":                                   "",
		"open@ < openSync@node:fs < readFileSync@node:fs":                                                  "sync-call: fs.promises",
		"existsSync@node:fs": "sync-call: fs.promises",
		"open@ < readFileSync@node:fs < Module._extensions..js@node:internal/modules/cjs/loader":                              "",
		"spawn@ < spawnSync@node:internal/child_process < spawnSync@node:child_process":                                       "sync-call: execFile",
		"spawn@ < spawnSync@node:internal/child_process < spawnSync@node:child_process < execSync@node:child_process":         "sync-call: execFile",
		"writeBuffer@ < writeSync@node:fs < SyncWriteStream._write@node:internal/fs/sync_write_stream":                        "printing: delete",
		"writeBuffer@ < writeSync@node:fs < log@node:internal/console/constructor":                                            "printing: delete",
		"formatValue@node:internal/util/inspect < inspect@node:internal/util/inspect < log@node:internal/console/constructor": "printing: delete",
		"formatValue@node:internal/util/inspect < inspect@node:internal/util/inspect":                                         "formatting: template",
		"Intl@":                  "locale-formatter: outside",
		"RegExp@":                "regexp-compiled: outside",
		"JSON.parse@":            "", // there is no protobuf
		"Atomics.wait@":          "atomics-wait: waitAsync",
		`RegExp: ^(\w+\s?)*$@`:   "regexp-backtracking: do not nest repetitions",
		`RegExp: ^\w+(\s\w+)*$@`: "",
		"parseExpression@/srv/node_modules/acorn/dist/acorn.js < lex@/srv/node_modules/pug-lexer/index.js < " +
			"compileBody@/srv/node_modules/pug/lib/index.js < exports.render@/srv/node_modules/pug/lib/index.js": "template-compiled: once",
		"compile@/srv/node_modules/ejs/lib/ejs.js < handleCache@/srv/node_modules/ejs/lib/ejs.js < " +
			"exports.render@/srv/node_modules/ejs/lib/ejs.js": "template-compiled: once",
		"anonymous@/srv/node_modules/ejs/lib/ejs.js < exports.render@/srv/node_modules/ejs/lib/ejs.js": "",
		"compile@/srv/node_modules/handlebars/dist/cjs/handlebars/compiler/javascript-compiler.js < " +
			"compileInput@/srv/node_modules/handlebars/dist/cjs/handlebars/compiler/compiler.js": "template-compiled: once",
		"ret@/srv/node_modules/handlebars/dist/cjs/handlebars/runtime.js": "",
		"Template.compile@/srv/node_modules/nunjucks/src/environment.js":  "template-compiled: once",
		"parseTemplate@/srv/node_modules/mustache/mustache.js":            "template-compiled: once",
		"template@/srv/node_modules/lodash/lodash.js":                     "template-compiled: once",
		"compile@/srv/node_modules/ajv/dist/compile/index.js":             "",
		"readFile@":      "",
		"fn@/srv/lib.js": "",
	} {
		p := nodeStacks(stack + own)
		found := smell.Find([]*profile.Profile{p})
		name, words, _ := strings.Cut(want, ": ")
		var named []string
		for _, s := range found {
			if s.Name != "event-loop-blocked" { // all of it is one stretch
				named = append(named, s.Name)
			}
			if s.Name == name && (!strings.Contains(s.Advice, words) || s.Where() != "/srv/app.js:7") {
				t.Errorf("%s: %s at %s: %s", stack, s.Name, s.Where(), s.Advice)
			}
		}
		fatal.Same(t, strings.Join(named, " "), name, "%s: named", stack)
	}
}

// What another thread does was only queued by the event loop's.
func TestSignaturesInThePool(t *testing.T) {
	p := nodeStacks("run@ < signOneShot@node:internal/crypto/sig < handle@/srv/app.js", "pool")
	for _, s := range smell.Find([]*profile.Profile{p}) {
		if s.Name == "sync-crypto" {
			t.Errorf("named: %+v", s)
		}
	}
}

// What fmt writes into a buffer is formatted, and printed only what goes to a file; what
// another writer does with it is neither.
func TestFormattingIntoABuffer(t *testing.T) {
	const own = "main.export"
	for stack, want := range map[string]string{
		"strconv.FormatFloat < fmt.(*pp).doPrintf < fmt.Fprintf < main.export":                                                 "formatting",
		"strings.(*Builder).Write < fmt.Fprintf < main.export":                                                                 "formatting",
		"bytes.(*Buffer).Write < fmt.Fprintln < main.export":                                                                   "formatting",
		"syscall.write < os.(*File).Write < fmt.Fprintln < main.export":                                                        "printing",
		"syscall.write < os.(*File).Write < fmt.Fprintln < fmt.Println < main.export":                                          "printing",
		"fmt.(*pp).doPrintln < fmt.Fprintln < fmt.Println < main.export":                                                       "printing",
		"net/http.(*chunkWriter).Write < bufio.(*Writer).Write < fmt.Fprintf < main.export":                                    "",
		"fmt.(*pp).doPrint < fmt.Fprint < text/template.(*state).printValue < text/template.(*Template).Execute < main.export": "",
	} {
		p := nodeStacks()
		p.Runtime = profile.Go
		var frames []profile.Frame
		for n, name := range strings.Split(stack, " < ") {
			f := profile.Function{Name: name, Owner: profile.Standard}
			if name == own {
				f.Owner, f.File, f.Line = profile.Own, "main.go", 7
			}
			p.Functions = append(p.Functions, f)
			frames = append(frames, profile.Frame{Function: int32(n), Line: int32(f.Line)})
		}
		p.Samples = []profile.Sample{{Stack: frames, Value: 1e9, Objects: 100}}
		var named []string
		for _, s := range smell.Find([]*profile.Profile{p}) {
			named = append(named, s.Name)
		}
		fatal.Same(t, strings.Join(named, " "), want, "%s: named", stack)
	}
}

// A worker thread that waits for its jobs stands in nobody's way.
func TestAWorkerMayWait(t *testing.T) {
	for _, s := range smell.Find([]*profile.Profile{nodeStacks("Atomics.wait@ < loop@/srv/worker.js < worker: worker.js@")}) {
		if s.Name == "atomics-wait" {
			t.Errorf("%s at %s", s.Name, s.Where())
		}
	}
}
