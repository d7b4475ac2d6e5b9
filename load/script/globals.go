package script

import (
	"bytes"
	"crypto/hmac"
	"crypto/md5"
	"crypto/rand"
	"crypto/sha1"
	"crypto/sha256"
	"crypto/sha512"
	"embed"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"maps"
	"net/url"
	"path"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode/utf16"

	"github.com/grafana/sobek"
	"golang.org/x/text/encoding/unicode"

	"whittle"
)

// library is Node's modules in JavaScript, over the functions of natives.
//
//go:embed node
var library embed.FS

// BuiltinPrefix begins the names of scripts that errors have no places in.
const BuiltinPrefix = "node:"

// absent are the modules of Node that are known not to be here. Requiring one is no
// error, since packages require what they may never use; using it is.
var absent = []string{
	"http", "https", "http2", "net", "tls", "dgram", "dns", "child_process", "cluster", "worker_threads", "vm", "v8", "zlib",
	"readline", "repl", "inspector", "perf_hooks", "async_hooks", "tty", "module", "diagnostics_channel", "stream", "fs/promises",
}

// builtin runs one of Node's modules. False: the name is none.
func (r *Runtime) builtin(vm *VM, name string) (Value, bool, error) {
	if m, ok := r.modules[BuiltinPrefix+name]; ok {
		return m.Get("exports"), true, nil
	}
	src, err := library.ReadFile("node/" + name + ".js")
	if err != nil {
		if slices.Contains(absent, name) {
			src = fmt.Appendf(nil, "module.exports = absent(%q)", name)
		} else {
			return nil, false, nil
		}
	}
	p, err := compileBuiltin(name, string(src))
	if err != nil {
		return nil, true, err
	}
	module, exports := vm.NewObject(), vm.NewObject()
	_ = module.Set("exports", exports)
	r.modules[BuiltinPrefix+name] = module
	inner := vm.ToValue(func(c sobek.FunctionCall) Value {
		v, _, err := r.builtin(vm, c.Argument(0).String())
		if err != nil {
			panic(vm.NewGoError(err))
		}
		return v
	})
	err = callModule(vm, p, exports, inner, module, r.natives(vm), vm.Get("__absent"))
	return module.Get("exports"), true, err
}

// callModule runs the function that a module is compiled to, with its exports first.
func callModule(vm *VM, p *Program, exports *Object, more ...Value) error {
	wrapper, err := vm.RunProgram(p.compiled)
	if err != nil {
		return problem(err)
	}
	call, _ := sobek.AssertFunction(wrapper)
	_, err = call(exports, append([]Value{exports}, more...)...)
	return problem(err)
}

// compiled are the modules of Node that some runtime of this process has needed.
var compiled sync.Map

func compileBuiltin(name, src string) (*Program, error) {
	if p, ok := compiled.Load(name); ok {
		return p.(*Program), nil
	}
	p, err := Compile(BuiltinPrefix+name, "(function (exports, require, module, native, absent) {"+src+"\n})")
	if err == nil {
		compiled.Store(name, p)
	}
	return p, err
}

// natives are the functions that Node's modules here are made of.
func (r *Runtime) natives(vm *VM) Value {
	n := vm.NewObject()
	for name, f := range map[string]any{
		"print":      r.print,
		"setTimer":   func(c sobek.FunctionCall) Value { return vm.ToValue(r.setTimer(vm, c)) },
		"clearTimer": r.clearTimer,
		"env": func(name string) any {
			if r.options.Getenv != nil {
				if v, ok := r.options.Getenv(name); ok {
					return v
				}
			}
			return nil
		},
		"now":     func() float64 { return float64(time.Now().UnixNano()) / 1e6 },
		"random":  func(n int) Value { return bytesValue(vm, randomBytes(vm, n)) },
		"encode":  func(text, encoding string) Value { return bytesValue(vm, encode(vm, text, encoding)) },
		"decode":  func(b Value, encoding string) string { return decode(vm, bytesOf(vm, b), encoding) },
		"compare": func(a, b Value) int { return bytes.Compare(bytesOf(vm, a), bytesOf(vm, b)) },
		"hash":    func(name string, b Value) Value { return bytesValue(vm, digest(vm, name, nil, bytesOf(vm, b))) },
		"hmac": func(name string, key, b Value) Value {
			return bytesValue(vm, digest(vm, name, bytesOf(vm, key), bytesOf(vm, b)))
		},
		"read":     func(name string) Value { return bytesValue(vm, r.readForScript(vm, name)) },
		"stat":     func(name string) any { return r.stat(name) },
		"list":     func(name string) []string { return r.list(vm, name) },
		"parseURL": func(text, base string) any { return parseURL(text, base) },
		"hashes":   func() []string { return slices.Sorted(maps.Keys(hashes)) },
		"runMicrotask": func(f sobek.Callable) {
			p, resolve, _ := vm.NewPromise()
			_ = resolve(sobek.Undefined())
			o := vm.ToValue(p).(*Object)
			then, _ := sobek.AssertFunction(o.Get("then"))
			_, _ = then(o, vm.ToValue(func() { _, _ = f(sobek.Undefined()) }))
		},
	} {
		_ = n.Set(name, f)
	}
	return n
}

// print passes a line to the console.
func (r *Runtime) print(line string) {
	r.lines++
	if r.options.Console == nil || r.lines > maxLines {
		return
	}
	if len(line) > maxLine {
		line = line[:maxLine] + "…"
	}
	if r.lines == maxLines {
		line = "further lines of the console are left out"
	}
	r.options.Console(line)
}

// setTimer calls a function after some milliseconds, with the engine held.
func (r *Runtime) setTimer(vm *VM, c sobek.FunctionCall) int64 {
	f, ok := sobek.AssertFunction(c.Argument(0))
	if !ok {
		panic(vm.NewTypeError("the callback of a timer is a function"))
	}
	if len(r.timers) >= maxTimers {
		panic(vm.NewGoError(whittle.Errorf(whittle.ResourceExhausted, "more than %d timers are set at once", maxTimers)))
	}
	r.timer++
	id := r.timer
	after := time.Duration(max(c.Argument(1).ToInteger(), 0)) * time.Millisecond
	r.timers[id] = time.AfterFunc(after, func() {
		r.turn <- struct{}{}
		defer func() { <-r.turn }()
		if _, set := r.timers[id]; !set {
			return
		}
		delete(r.timers, id)
		err := r.run(func(*VM) error {
			_, err := f(sobek.Undefined())
			return err
		})
		if err != nil {
			r.print("in a timer: " + err.Error())
		}
	})
	return id
}

func (r *Runtime) clearTimer(id int64) {
	if t, ok := r.timers[id]; ok {
		t.Stop()
		delete(r.timers, id)
	}
}

// inFolder is a path of a script's as one within the plan's folder, whose root is /.
// False: it is outside of it.
func (r *Runtime) inFolder(name string) (string, bool) {
	name = strings.ReplaceAll(name, `\`, "/")
	if !strings.HasPrefix(name, "/") {
		name = path.Join(r.options.Within, name)
	}
	name = path.Clean(strings.TrimLeft(name, "/"))
	return name, name != ".." && !strings.HasPrefix(name, "../")
}

func (r *Runtime) readForScript(vm *VM, name string) []byte {
	at, ok := r.inFolder(name)
	if !ok {
		panic(vm.NewGoError(whittle.Errorf(whittle.PermissionDenied, "%s is outside of the plan's folder, from which alone scripts read", name)))
	}
	b, err := r.readFile(at, maxFile)
	if err != nil {
		panic(vm.NewGoError(err))
	}
	return b
}

// stat is what fs.statSync says of a file; nil: there is none.
func (r *Runtime) stat(name string) any {
	at, ok := r.inFolder(name)
	if r.options.Files == nil || !ok {
		return nil
	}
	i, err := fs.Stat(r.options.Files, at)
	if err != nil {
		return nil
	}
	return map[string]any{"size": i.Size(), "folder": i.IsDir(), "at": float64(i.ModTime().UnixMilli())}
}

func (r *Runtime) list(vm *VM, name string) []string {
	at, ok := r.inFolder(name)
	if r.options.Files == nil || !ok {
		panic(vm.NewGoError(whittle.Errorf(whittle.PermissionDenied, "%s is outside of the plan's folder, from which alone scripts read", name)))
	}
	all, err := fs.ReadDir(r.options.Files, at)
	if err != nil {
		panic(vm.NewGoError(whittle.Errorf(whittle.NotFound, "ENOENT: no such folder in the plan's: %s", name)))
	}
	out := []string{}
	for _, e := range all {
		out = append(out, e.Name())
	}
	return out
}

// bytesValue is a Uint8Array over an ArrayBuffer.
func bytesValue(vm *VM, b []byte) Value { return vm.ToValue(vm.NewArrayBuffer(b)) }

// bytesOf is the bytes of an ArrayBuffer, of a view of one, or of a text.
func bytesOf(vm *VM, v Value) []byte {
	switch b := v.Export().(type) {
	case sobek.ArrayBuffer:
		return b.Bytes()
	case []byte:
		return b
	case string:
		return []byte(b)
	}
	panic(vm.NewTypeError("bytes or a text are wanted here"))
}

const maxRandom = 1 << 20

func randomBytes(vm *VM, n int) []byte {
	if n < 0 || n > maxRandom {
		panic(vm.NewTypeError("%d random bytes are not within 0 and %d", n, maxRandom))
	}
	b := make([]byte, n)
	_, _ = rand.Read(b) // it never fails
	return b
}

// encode is the bytes that a text stands for.
func encode(vm *VM, text, encoding string) []byte {
	switch encoding {
	case "utf8", "utf-8", "":
		return []byte(strings.ToValidUTF8(text, "\ufffd"))
	case "hex":
		b, _ := hex.DecodeString(text[:len(text)&^1])
		return b
	case "base64", "base64url":
		plain := strings.NewReplacer("-", "+", "_", "/", "=", "", "\n", "", "\r", "", " ", "").Replace(text)
		b, _ := io.ReadAll(base64.NewDecoder(base64.RawStdEncoding, strings.NewReader(plain)))
		return b
	case "latin1", "binary", "ascii":
		b := make([]byte, 0, len(text))
		for _, c := range utf16.Encode([]rune(text)) {
			b = append(b, byte(c))
		}
		return b
	case "utf16le", "ucs2", "utf-16le", "ucs-2":
		b := make([]byte, 0, 2*len(text))
		for _, c := range utf16.Encode([]rune(text)) {
			b = binary.LittleEndian.AppendUint16(b, c)
		}
		return b
	}
	panic(vm.NewTypeError("the encoding %s is not known", encoding))
}

// decode is the text that bytes stand for.
func decode(vm *VM, b []byte, encoding string) string {
	switch encoding {
	case "utf8", "utf-8", "":
		b, _ = unicode.UTF8.NewDecoder().Bytes(b) // what is wrong is replaced
		return string(b)
	case "hex":
		return hex.EncodeToString(b)
	case "base64":
		return base64.StdEncoding.EncodeToString(b)
	case "base64url":
		return base64.RawURLEncoding.EncodeToString(b)
	case "latin1", "binary", "ascii":
		text := make([]rune, len(b))
		for i, c := range b {
			text[i] = rune(c)
			if encoding == "ascii" {
				text[i] &= 0x7f
			}
		}
		return string(text)
	case "utf16le", "ucs2", "utf-16le", "ucs-2":
		units := make([]uint16, len(b)/2)
		for i := range units {
			units[i] = binary.LittleEndian.Uint16(b[2*i:])
		}
		return string(utf16.Decode(units))
	}
	panic(vm.NewTypeError("the encoding %s is not known", encoding))
}

// hashes are the digests of createHash and createHmac.
var hashes = map[string]func() hash.Hash{
	"md5": md5.New, "sha1": sha1.New, "sha224": sha256.New224, "sha256": sha256.New, "sha384": sha512.New384, "sha512": sha512.New,
}

// digest is a hash, or an HMAC where there is a key.
func digest(vm *VM, name string, key, b []byte) []byte {
	of, ok := hashes[strings.ReplaceAll(strings.ToLower(name), "-", "")]
	if !ok {
		panic(vm.NewTypeError("the digest %s is not supported; there are %s", name, strings.Join(slices.Sorted(maps.Keys(hashes)), ", ")))
	}
	h := of()
	if key != nil {
		h = hmac.New(of, key)
	}
	h.Write(b)
	return h.Sum(nil)
}

// parseURL takes a URL apart as the URL of browsers and of Node does; nil: it is none.
func parseURL(text, base string) any {
	u, err := url.Parse(strings.TrimSpace(text))
	if err != nil {
		return nil
	}
	if base != "" {
		b, err := url.Parse(base)
		if err != nil || b.Scheme == "" {
			return nil
		}
		u = b.ResolveReference(u)
	}
	if u.Scheme == "" {
		return nil
	}
	if u.Host != "" && u.Path == "" {
		u.Path = "/"
	}
	port := u.Port()
	if u.Scheme == "http" && port == "80" || u.Scheme == "https" && port == "443" {
		port = ""
	}
	password, _ := u.User.Password()
	out := map[string]any{
		"protocol": u.Scheme + ":", "hostname": strings.ToLower(u.Hostname()), "port": port,
		"username": u.User.Username(), "password": password, "pathname": u.EscapedPath(), "search": "", "hash": "",
	}
	if u.Opaque != "" {
		out["pathname"] = u.Opaque
	}
	if u.RawQuery != "" {
		out["search"] = "?" + u.RawQuery
	}
	if u.Fragment != "" {
		out["hash"] = "#" + u.EscapedFragment()
	}
	return out
}
