package smell

import (
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"whittle/profile"
)

// nodeRules stand from the particular to the general: a key that is parsed for a
// signature is not also signing, what is printed is not also a synchronous call.
var nodeRules = []rule{
	{
		name: "key-parsed", title: "a key is parsed for each request", least: 0.02,
		advice: "make a KeyObject once, with crypto.createPrivateKey or createPublicKey, and pass it instead of the PEM text",
		match:  inScript("node:internal/crypto/keys", "createPrivateKey", "createPublicKey"),
	},
	{
		name: "sync-crypto", title: "many random bytes are drawn synchronously", least: 0.02,
		advice: "draw only what you need, 16 for an identifier; for many, use the form with a callback, which runs in the thread pool",
		match: func(v *view) (string, bool) {
			if _, cached := inScript("node:internal/crypto/random", "randomUUID", "randomInt")(v); cached {
				return "", false
			}
			return inScript("node:internal/crypto/random", "randomFillSync")(v)
		},
	},
	{
		name: "sync-crypto", title: "cryptography blocks the event loop", least: 0.02,
		advice: "use the form with a callback or promise (crypto.pbkdf2, bcrypt's hash): the thread pool runs it, at the same CPU; cache constant results",
		match:  syncCrypto,
	},
	{
		name: "sync-crypto", title: "signatures block the event loop", least: 0.02,
		advice: "use crypto.sign, verify or diffieHellman with a callback: the thread pool runs it, at the same CPU; cache constant results",
		match:  signatures,
		unless: inThePool,
	},
	{
		name: "sync-call", title: "compression blocks the event loop", least: 0.02,
		advice: "use the form with a callback, or a stream: the thread pool runs it, at the same CPU; cache compressed responses, and use brotli at a quality below 11",
		match:  inScript("node:zlib", "*Sync"),
	},
	{
		name: "sync-call", title: "a child process blocks the event loop", least: 0.02,
		advice: "use execFile or spawn, and bound how many run at once; or do the work in this process",
		match:  inScript("node:child_process", "*Sync"),
	},
	{
		name: "atomics-wait", title: "the event loop waits in Atomics.wait", least: 0.02,
		advice: "use Atomics.waitAsync, or post a message and await the reply; Atomics.wait is for worker threads",
		match: func(v *view) (string, bool) {
			if v.above("worker: *") {
				return "", false
			}
			return native("Atomics.wait")(v)
		},
	},
	{
		name: "printing", title: "something is printed on the hot path", least: 0.05,
		advice: "delete the line, or log it at a level that is off; console.log and process.stdout write to files and terminals synchronously",
		match:  ofScripts("node:internal/console/", "node:internal/fs/sync_write_stream"),
	},
	{
		name: "sync-call", title: "a synchronous call blocks the event loop", least: 0.02,
		advice: "use fs.promises or a stream; read constant files once, at the start",
		match: func(v *view) (string, bool) {
			if _, loads := v.first(slices.All(v.whole), inFile("node:internal/modules/")); loads { // require at the start reads files too
				return "", false
			}
			return inScript("node:fs", "*Sync")(v)
		},
	},
	{
		name: "formatting", title: "text is formatted on the hot path", least: 0.10,
		advice: "build the text by a template, or not at all if nobody reads it; util.inspect and util.format walk the whole value",
		match:  ofScripts("node:internal/util/inspect"),
	},
	{
		name: "locale-formatter", title: "a formatter is made for each call", least: 0.05,
		advice: "make one Intl.DateTimeFormat, NumberFormat or Collator outside of the function, and call its format or compare",
		match:  native("Intl"),
	},
	{
		name: "connection-churn", title: "connections are opened again and again", least: 0.02,
		advice: "use an agent with keepAlive, shared by all requests",
		match:  named("createSecureContext", "tlsConnect", "createConnection", "internalConnect", "lookupAndConnect"),
		asks: func(v *view) bool {
			_, ok := named("request", "get", "ClientRequest", "fetch", "connect")(v)
			return ok
		},
	},
	{
		name: "regexp-compiled", title: "a regular expression is compiled for each request", least: 0.05,
		advice: "compile it once, outside of the function; keep expressions made from requests in a bounded map",
		match:  native("RegExp"),
	},
	{
		name: "regexp-backtracking", title: "a regular expression takes exponential time", least: 0.10,
		advice: "do not nest repetitions of the same characters: ^\\w+(\\s\\w+)*$ for ^(\\w+\\s?)*$; until then, bound the text's length",
		match:  backtracks,
	},
	{
		name: "template-compiled", title: "a template is compiled for each request", least: 0.05,
		advice: "compile it once, outside of the function, or use the engine's cache (cache: true with a filename; Express's view cache)",
		match:  compilesTemplate,
	},
	{
		name: "json-for-messages", title: "messages travel as JSON although the contract has protobuf", least: 0.10,
		advice: "send the binary form: encode() and decode() of the generated code",
		match: func(v *view) (string, bool) {
			if !v.usesProtobuf() {
				return "", false
			}
			if name, ok := native("JSON.stringify", "JSON.parse")(v); ok {
				return name, true
			}
			return v.first(slices.All(v.stack), generated("$toObject", "$fromObject"))
		},
	},
}

// syncCrypto finds cryptography that is done in the event loop's thread by its name.
func syncCrypto(v *view) (string, bool) {
	if name, ok := named("hashSync", "compareSync", "genSaltSync", "verifySync", "publicEncrypt", "publicDecrypt", "privateEncrypt", "privateDecrypt")(v); ok {
		return name, true
	}
	name, ok := inScript("node:internal/crypto/", "*Sync")(v)
	return name, ok && name != "randomFillSync"
}

// signatures finds signatures and key agreements, by the native functions that make them.
// With a callback the names are the same, and the functions only queue the work.
func signatures(v *view) (string, bool) {
	if _, promised := inScript("node:internal/util", "fn")(v); promised || !slices.Contains(cryptoNatives, v.p.Functions[v.stack[0].Function].Name) {
		return "", false
	}
	return ofScripts("node:internal/crypto/sig", "node:internal/crypto/diffiehellman")(v)
}

// inThePool reports whether other threads did clearly more than what was found: then the
// work was queued for them. Of V8's helpers it is no sign, where threads have names.
func inThePool(p *profile.Profile, found int64) bool {
	pool := int64(0)
	for i := range p.Samples {
		if s := &p.Samples[i]; s.Thread < 0 && !strings.Contains(p.Functions[s.Stack[0].Function].Name, "V8") {
			pool += s.Value
		}
	}
	return pool > 2*found
}

// cryptoNatives are the native functions in which signatures and key agreements are made.
var cryptoNatives = []string{"run", "sign", "verify", "statelessDH", "generateKeys", "computeSecret"}

// inFile knows a function of a script whose path begins as one of the prefixes.
func inFile(prefixes ...string) func(*profile.Function) bool {
	return func(f *profile.Function) bool {
		return slices.ContainsFunc(prefixes, func(prefix string) bool { return strings.HasPrefix(f.File, prefix) })
	}
}

// ofScripts matches the function of some of Node's own scripts that the own code called.
func ofScripts(prefixes ...string) matcher {
	return func(v *view) (string, bool) { return v.first(slices.Backward(v.stack), inFile(prefixes...)) }
}

// inScript matches a function of one of Node's own scripts, by its name; a suffix begins
// with "*".
func inScript(prefix string, names ...string) matcher {
	return func(v *view) (string, bool) {
		return v.first(slices.Backward(v.stack), func(f *profile.Function) bool {
			return strings.HasPrefix(f.File, prefix) && slices.ContainsFunc(names, func(n string) bool {
				suffix, open := strings.CutPrefix(n, "*")
				return f.Name == n || open && strings.HasSuffix(f.Name, suffix)
			})
		})
	}
}

// named matches a function of Node's own, or of a library, by its name.
func named(names ...string) matcher {
	return func(v *view) (string, bool) {
		return v.first(slices.Backward(v.stack), func(f *profile.Function) bool {
			return f.Owner != profile.Own && slices.ContainsFunc(names, func(n string) bool { return f.Name == n || strings.HasSuffix(f.Name, "."+n) })
		})
	}
}

// native matches a function of V8's own: one without a script.
func native(names ...string) matcher {
	return func(v *view) (string, bool) {
		return v.first(slices.All(v.stack), func(f *profile.Function) bool { return f.Owner == profile.System && slices.Contains(names, f.Name) })
	}
}

// generated knows a function that protobufjs made at run time: one without a script, named
// after its message.
func generated(suffixes ...string) func(*profile.Function) bool {
	return func(f *profile.Function) bool {
		return f.File == "" && slices.ContainsFunc(suffixes, func(s string) bool { return strings.HasSuffix(f.Name, s) })
	}
}

// backtracks finds a match with an expression that is shown to take exponential time
// where it fails.
func backtracks(v *view) (string, bool) {
	return v.first(slices.All(v.stack), func(f *profile.Function) bool {
		pattern, ok := strings.CutPrefix(f.Name, profile.RegExpOf)
		return ok && f.Owner == profile.System && exponential(pattern)
	})
}

// templateCompilers are the functions of template engines that make a function of a
// template, by where the engine is.
var templateCompilers = []struct{ script, functions string }{
	{"node_modules/ejs/", "compile generateSource parseTemplateText"},
	{"node_modules/pug/", "compileBody"},
	{"node_modules/pug-", "lex parse"},
	{"node_modules/handlebars/", "compileInput parseWithoutProcessing precompile"},
	{"node_modules/nunjucks/", "_compile compile"},
	{"node_modules/mustache/", "parseTemplate"},
	{"node_modules/eta/", "compile compileToString"},
	{"node_modules/lodash", "template"},
}

// compilesTemplate finds a template engine that compiles.
func compilesTemplate(v *view) (string, bool) {
	for i := len(v.stack) - 1; i >= 0; i-- {
		f := v.p.Functions[v.stack[i].Function]
		if f.Owner != profile.Library {
			continue
		}
		name := f.Name[strings.LastIndexAny(f.Name, ". ")+1:]
		for _, c := range templateCompilers {
			if strings.Contains(f.File, c.script) && slices.Contains(strings.Fields(c.functions), name) {
				return path.Base(strings.TrimSuffix(c.script, "/")) + "'s " + name, true
			}
		}
	}
	return "", false
}

func (v *view) usesProtobuf() bool {
	made := generated("$decode", "$encode")
	return slices.ContainsFunc(v.p.Functions, func(f profile.Function) bool {
		return made(&f) || strings.Contains(f.File, "node_modules/protobufjs/") || strings.Contains(f.File, "node_modules/@bufbuild/") ||
			strings.Contains(f.File, "node_modules/google-protobuf/")
	})
}

// blocked names the calls that keep Node's event loop.
func blocked(p *profile.Profile) []Smell {
	var out []Smell
	for _, b := range p.Blocked() {
		if !b.Sure {
			continue
		}
		f := p.Functions[b.Inner]
		out = append(out, Smell{
			Name: "event-loop-blocked", Title: "one call blocks the event loop for everybody",
			Function: f.Name, File: f.File, Line: f.Line, Share: float64(b.Sum) / float64(max(p.Duration, 1)),
			Evidence: fmt.Sprintf("%s kept the event loop %s for %s or more, the longest %s; most of it in %s",
				p.Functions[b.Root].Name, times(b.Count), profile.BlockedFor, b.Longest.Round(time.Millisecond), f.Name),
			Advice: "carve it into a service of its own, or do it in slices with setImmediate between them; a worker thread keeps nobody waiting either, and costs the same CPU",
		})
	}
	return out
}

func times(n int) string {
	if n == 1 {
		return "once"
	}
	return fmt.Sprintf("%d times", n)
}
