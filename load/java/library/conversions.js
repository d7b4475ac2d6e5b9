// How a value becomes one of another class, and what is at a place of it.
const kinds = { String: ["java.lang.String"], CharSequence: ["java.lang.String"], Integer: ["java.lang.Integer"], Long: ["java.lang.Long"], Double: ["java.lang.Double"], BigDecimal: ["java.math.BigDecimal"], Boolean: ["java.lang.Boolean"],
	Number: ["java.lang.Integer", "java.lang.Long", "java.lang.Double", "java.math.BigDecimal"], List: ["java.util.ArrayList"], ArrayList: ["java.util.ArrayList"], Collection: ["java.util.ArrayList", "java.util.HashSet"], Map: ["java.util.LinkedHashMap"], Set: ["java.util.HashSet"] };
function integer(text, radix) {
	if (typeof text !== "string") throw fails("java.lang.NumberFormatException", str(text));
	radix = radix === undefined ? 10 : radix;
	const d = "0123456789abcdefghijklmnopqrstuvwxyz".slice(0, radix);
	if (!new RegExp("^[-+]?[" + d + "]+$", "i").test(text)) throw fails("java.lang.NumberFormatException", 'For input string: "' + text + '"');
	let n = 0n; for (const c of text.replace(/^[-+]/, "").toLowerCase()) n = n * BigInt(radix) + BigInt(d.indexOf(c));
	return text[0] === "-" ? -n : n;
}
function int(text, radix) { const n = integer(text, radix); if (n > 2147483647n || n < -2147483648n) throw fails("java.lang.NumberFormatException", 'For input string: "' + text + '"'); return Number(n); }
function longOf(text, radix) { const n = integer(text, radix); if (n !== long(n)) throw fails("java.lang.NumberFormatException", 'For input string: "' + text + '"'); return n; }
function doubleOf(text) { if (typeof text !== "string" || !/^\s*[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?[dDfF]?\s*$/.test(text)) throw fails("java.lang.NumberFormatException", 'For input string: "' + str(text) + '"'); return new Double(parseFloat(text)); }
// put is a value that is put into a variable of a type, cast one that is cast to it.
function put(kind, v, groovy) {
	if (v === undefined) v = null;
	if (v === null && !/^(int|long|double|float|boolean|char|short|byte)$/.test(kind)) return null;
	switch (kind) {
	case "String": if (typeof v === "string") return v; if (groovy) return str(v); break;
	case "boolean": case "Boolean": if (typeof v === "boolean") return v; if (groovy) return t(v); break;
	case "int": case "Integer": case "short": case "byte":
		if (typeof v === "number") return v; if (v instanceof Char && kind === "int") return v.c.charCodeAt(0);
		if (groovy && isNumber(v)) return toInt(v); if (groovy && typeof v === "string" && v.length === 1) return v.charCodeAt(0); break;
	case "long": case "Long": if (typeof v === "bigint") return v; if (typeof v === "number" && (kind === "long" || groovy)) return BigInt(v); if (groovy && isNumber(v)) return toLong(v); break;
	case "double": case "Double": if (v instanceof Double) return v; if (isNumber(v) && (kind === "double" || groovy)) return new Double(real(v)); break;
	case "float": case "Float": throw fails("whittle", "a number of the class float");
	case "char": if (v instanceof Char) return v; if (typeof v === "string" && v.length === 1 && groovy) return new Char(v); if (typeof v === "number") return new Char(String.fromCharCode(v)); break;
	case "BigDecimal": if (v instanceof Decimal) return v; if (isNumber(v) && groovy) return toDecimal(v); break;
	}
	throw fails(groovy ? "org.codehaus.groovy.runtime.typehandling.GroovyCastException" : "bsh.EvalError", "Cannot put " + kindOf(v) + " into a variable of " + kind);
}
function toInt(v) { return whole(v) ? Number(BigInt.asIntN(32, BigInt(v))) : v instanceof Decimal ? Number(BigInt.asIntN(32, v.u / 10n ** BigInt(v.s))) : Math.max(-2147483648, Math.min(2147483647, Math.trunc(real(v)) || 0)); }
function toLong(v) { return whole(v) ? long(BigInt(v)) : v instanceof Decimal ? long(v.u / 10n ** BigInt(v.s)) : (function (r) { return r !== r ? 0n : r >= 9223372036854775807 ? 9223372036854775807n : r <= -9223372036854775808 ? least : BigInt(Math.trunc(r)); })(real(v)); }
function cast(kind, v, groovy) {
	if (isNumber(v) || v instanceof Char) {
		if (v instanceof Char && kind !== "char") v = v.c.charCodeAt(0);
		switch (kind) {
		case "int": return toInt(v);
		case "long": return toLong(v);
		case "double": return new Double(real(v));
		case "char": return v instanceof Char ? v : new Char(String.fromCharCode(toInt(v) & 0xffff));
		case "short": return toInt(v) << 16 >> 16;
		case "byte": return toInt(v) << 24 >> 24;
		}
	}
	return put(kind, v, groovy);
}
function as(v, kind) {
	if (v === null || v === undefined) return null;
	switch (kind) {
	case "int": case "Integer": return typeof v === "string" ? int(v.trim()) : toInt(v);
	case "long": case "Long": return typeof v === "string" ? longOf(v.trim()) : toLong(v);
	case "double": case "Double": return typeof v === "string" ? doubleOf(v) : new Double(real(v));
	case "BigDecimal": return typeof v === "string" ? decimal(v) : toDecimal(v);
	case "String": return str(v);
	case "boolean": case "Boolean": return t(v);
	case "char": case "Character": return put("char", v, true);
	case "List": case "ArrayList": case "String[]": case "Object[]": return Array.isArray(v) ? v : each(v);
	case "Set": case "HashSet": return make("LinkedHashSet", v);
	case "Map": if (v instanceof JMap) return v;
	}
	throw fails("whittle", "as " + kind);
}
function isA(v, kind) { const all = kinds[kind]; if (!all) throw fails("whittle", "instanceof " + kind); return all.includes(kindOf(v)); }
function each(v) {
	if (v === null || v === undefined) return [];
	if (Array.isArray(v)) return v;
	if (v instanceof JMap) return v.entries().map(function (e) { return new Entry(e[0], e[1], v); });
	if (v instanceof JSet) return v.values();
	if (typeof v === "string") return Array.from(v);
	if (v instanceof Json && Array.isArray(v.v)) return v.v;
	if (v instanceof Bytes) return v.b;
	if (v instanceof Matcher) { const out = []; let m; const r = v.p.re("g"); while ((m = r.exec(v.t))) { out.push(m.length > 1 ? Array.from(m).map(nothing) : m[0]); if (m[0] === "") r.lastIndex++; } return out; }
	throw fails("whittle", "a loop over " + kindOf(v));
}
function nothing(v) { return v === undefined ? null : v; }
function index(list, i) { let n = Number(i); return n < 0 ? list.length + n : n; }
function at(v, i) {
	if (v === null || v === undefined) throw fails("java.lang.NullPointerException", "Cannot invoke method getAt() on null object");
	if (Array.isArray(v) && whole(i)) { const n = index(v, i); return n >= 0 && n < v.length ? v[n] : null; }
	if (v instanceof Bytes && whole(i)) return v.b[Number(i)];
	if ((Array.isArray(v) || typeof v === "string") && Array.isArray(i)) { const out = i.map(function (n) { return at(v, n); }); return typeof v === "string" ? out.join("") : out; }
	if (typeof v === "string") { const n = index(v, i); if (n < 0 || n >= v.length) throw fails("java.lang.StringIndexOutOfBoundsException", "index " + n); return v[n]; }
	if (v instanceof JMap) return v.get(i);
	if (v instanceof Json) return nothing(v.v[i]);
	if (v instanceof Matcher) { const all = each(v), n = index(all, i); if (n < 0 || n >= all.length) throw fails("java.lang.IndexOutOfBoundsException", "index is out of range"); return all[n]; }
	if (Array.isArray(v)) return v.map(function (x) { return get(x, i); });
	return get(v, i);
}
function setAt(v, i, x) {
	if (Array.isArray(v)) { const n = index(v, i); while (v.length < n) v.push(null); v[n] = x; return x; }
	if (v instanceof JMap) { v.set(i, x); return x; }
	return set(v, i, x);
}
function item(list, i) { return i < list.length ? list[i] : null; }
function get(v, name) {
	if (v === null || v === undefined) throw fails("java.lang.NullPointerException", "Cannot get property '" + name + "' on null object");
	if (v instanceof JMap) return v.get(name);
	if (Array.isArray(v)) { if (name === "length") return v.length; return v.map(function (x) { return x === null ? null : get(x, name); }); }
	if (v instanceof Bytes && name === "length") return v.b.length;
	if (v instanceof Entry) return name === "key" ? v.k : v.v;
	if (v.$static && name in v.$constants) return v.$constants[name];
	const way = "get" + name[0].toUpperCase() + name.slice(1);
	if (has(v, way)) return call(v, way, []);
	const is = "is" + name[0].toUpperCase() + name.slice(1);
	if (has(v, is)) return call(v, is, []);
	if (typeof v === "string" && name === "bytes") return call(v, "getBytes", []);
	if (v instanceof JFile && name === "text") return fileText(v);
	if (v instanceof Calls && has(v, "get")) return call(v, "get", [name]); // as of vars, which has get(String)
	if (v.lent) throw fails("whittle", "no " + name + " of " + v.name + " here");
	throw fails("groovy.lang.MissingPropertyException", "No such property: " + name + " for class: " + kindOf(v));
}
function set(v, name, x) {
	if (v instanceof JMap) { v.set(name, x); return x; }
	if (v && v.lent && v.m.getOrDefault) { call(v, "put", [name, x]); return x; } // as of props, which is a map
	const way = "set" + name[0].toUpperCase() + name.slice(1);
	if (v !== null && has(v, way)) { call(v, way, [x]); return x; }
	throw fails("groovy.lang.MissingPropertyException", "No such property: " + name + " for class: " + kindOf(v));
}
function tableOf(v) {
	if (typeof v === "string") return m.String; if (typeof v === "boolean") return m.Boolean;
	if (isNumber(v)) return m.Number; if (Array.isArray(v)) return m.List;
	if (v instanceof Calls) return v.m;
	if (typeof v === "function") return m.Closure;
	for (const c of [[JMap, "Map"], [JSet, "Set"], [Entry, "Entry"], [Builder, "Builder"], [JDate, "Date"], [Pattern, "Pattern"], [Matcher, "Matcher"], [JRandom, "Random"], [Format, "Format"], [Char, "Char"], [Bytes, "Bytes"], [JUUID, "Any"], [Thrown, "Thrown"], [Digest, "Digest"], [Mac, "Mac"], [Key, "Any"], [Reader, "Reader"], [JFile, "File"], [JURL, "URL"], [Json, "Any"]]) if (v instanceof c[0]) return m[c[1]];
	return v;
}
function has(v, name) { const of = tableOf(v); return Object.prototype.hasOwnProperty.call(of, name) || Object.prototype.hasOwnProperty.call(m.Any, name) && !(v && v.$static); }
function call(v, name, args) {
	if (v === null || v === undefined) {
		if (name === "equals" || name === "is") return args[0] === null;
		if (name === "toString" && v === null) throw fails("java.lang.NullPointerException", "Cannot invoke method toString() on null object");
		throw fails("java.lang.NullPointerException", "Cannot invoke method " + name + "() on null object");
	}
	const of = tableOf(v), own = Object.prototype.hasOwnProperty.call(of, name);
	if (own) {
		const f = of[name];
		if (typeof f !== "function") throw fails("groovy.lang.MissingMethodException", name);
		if (v instanceof Calls || v === of) return nothing(f.apply(of, args));
		return nothing(f.apply(null, [v].concat(args)));
	}
	if (v instanceof JMap && typeof v.get(name) === "function") return v.get(name).apply(null, args);
	if (Object.prototype.hasOwnProperty.call(m.Any, name) && v !== of) return nothing(m.Any[name].apply(null, [v].concat(args)));
	if (v.lent) throw fails("whittle", "no " + name + "() of " + v.name + " here");
	throw fails("groovy.lang.MissingMethodException", "No signature of method: " + kindOf(v) + "." + name + "()");
}
function regexp(p, flags) {
	let f = flags, s = p.replace(/\(\?<([a-zA-Z][a-zA-Z0-9]*)>/g, "(?<$1>").replace(/\\p\{Alnum\}/g, "[a-zA-Z0-9]").replace(/\\p\{Alpha\}/g, "[a-zA-Z]").replace(/\\p\{Digit\}/g, "\\d").replace(/\\p\{Punct\}/g, "[!-/:-@\\[-`{-~]").replace(/\\Q([^]*?)(\\E|$)/g, function (_, q) { return q.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"); }).replace(/\\A/g, "^").replace(/\\[zZ]/g, "$").replace(/([*+?}])\+/g, "$1");
	const inline = /^\(\?([imsu]+)\)/.exec(s);
	if (inline) { s = s.slice(inline[0].length); f += inline[1]; }
	return new RegExp(s, Array.from(new Set(f)).join("").replace("d", ""));
}
// replacement is one of Java's as JavaScript has it.
function replaced(t, p, by, all) {
	return t.replace(regexp(p, all ? "g" : ""), function () {
		const g = Array.from(arguments);
		return by.replace(/\\(.)|\$(\d)|\$\{(\w+)\}/g, function (_, c, n, name) { if (c !== undefined) return c; const v = n !== undefined ? g[Number(n)] : g[g.length - 1][name]; return v === undefined ? "" : v; });
	});
}
function split(t, p, limit) {
	if (t === "") return [""];
	const r = regexp(p, "g"), out = []; let from = 0, x;
	if (!regexp(p, "").test(t)) return [t];
	while ((limit === undefined || limit <= 0 || out.length < limit - 1) && (x = r.exec(t))) { if (x[0] === "") { if (r.lastIndex >= t.length) break; r.lastIndex++; if (x.index === 0) continue; } else if (x.index === 0 && x[0].length === 0) continue; out.push(t.slice(from, x.index)); from = x.index + x[0].length; }
	out.push(t.slice(from));
	if (limit === undefined || limit === 0) while (out.length > 0 && out[out.length - 1] === "") out.pop();
	return out;
}
function range(a, c) { const out = []; if (typeof a === "string") { const x = a.charCodeAt(0), y = c.charCodeAt(0); for (let i = x; x <= y ? i <= y : i >= y; i += x <= y ? 1 : -1) out.push(String.fromCharCode(i)); return out; } const x = Number(a), y = Number(c); if (Math.abs(y - x) > 1000000) throw fails("whittle", "a range of more than a million"); for (let i = x; x <= y ? i <= y : i >= y; i += x <= y ? 1 : -1) out.push(i); return out; }
function rangeTo(a, c) { const out = range(a, c); out.pop(); return out; }
function utf8(text) { return Array.from(new TextEncoder().encode(text)).map(function (x) { return x << 24 >> 24; }); }
function bytesOf(v, charset) { if (v instanceof Bytes) return v.b; if (charset !== undefined && !/^(utf-?8|us-ascii)$/i.test(str(charset))) { if (/^iso-?8859-1$/i.test(str(charset))) return Array.from(str(v)).map(function (c) { const n = c.charCodeAt(0); return (n > 255 ? 63 : n) << 24 >> 24; }); throw fails("whittle", "the charset " + str(charset)); } return utf8(str(v)); }
function textOf(bytes, charset) { if (charset !== undefined && /^iso-?8859-1$/i.test(str(charset))) return bytes.map(function (x) { return String.fromCharCode(x & 255); }).join(""); return new TextDecoder().decode(new Uint8Array(bytes.map(function (x) { return x & 255; }))); }
function hex(bytes) { return bytes.map(function (x) { return (x & 255).toString(16).padStart(2, "0"); }).join(""); }
function base64(bytes, url, pad) { let out = $host.base64(hex(bytes), !!url); return pad === false ? out.replace(/=+$/, "") : out; }
function unbase64(text) { const h = $host.unbase64(str(text)); if (h === null) throw fails("java.lang.IllegalArgumentException", "Illegal base64 character"); return unhex(h); }
function unhex(h) { const out = []; for (let i = 0; i < h.length; i += 2) out.push(parseInt(h.slice(i, i + 2), 16) << 24 >> 24); return out; }
function formEscape(text) { return encodeURIComponent(text).replace(/[!'()~]/g, function (c) { return "%" + c.charCodeAt(0).toString(16).toUpperCase(); }).replace(/%20/g, "+"); }
function hash(name, bytes) { const h = $host.hash(name, hex(bytes)); if (h === null) throw fails("java.security.NoSuchAlgorithmException", name + " MessageDigest not available"); return unhex(h); }
// fromJSON is a text of JSON as Groovy reads it.
function fromJSON(text, lists) {
	let parsed; const numbers = [];
	// Numbers keep their text: 1.50 is no 1.5 there.
	text = str(text);
	let i = 0;
	function bad() { throw fails("groovy.json.JsonException", "Unable to determine the current character"); }
	function space() { while (i < text.length && /\s/.test(text[i])) i++; }
	function value(depth) {
		if (depth > 200) bad();
		space();
		const c = text[i];
		if (c === "{") { i++; const o = new JMap(); space(); if (text[i] === "}") { i++; return o; } for (;;) { space(); if (text[i] !== '"') bad(); const k = string(); space(); if (text[i++] !== ":") bad(); o.set(k, value(depth + 1)); space(); if (text[i] === ",") { i++; continue; } if (text[i++] === "}") return o; bad(); } }
		if (c === "[") { i++; const l = []; space(); if (text[i] === "]") { i++; return l; } for (;;) { l.push(value(depth + 1)); space(); if (text[i] === ",") { i++; continue; } if (text[i++] === "]") return l; bad(); } }
		if (c === '"') return string();
		const rest = /^(true|false|null|-?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?)/.exec(text.slice(i, i + 400));
		if (!rest) bad();
		i += rest[0].length;
		switch (rest[0]) { case "true": return true; case "false": return false; case "null": return null; }
		if (/[.eE]/.test(rest[0])) return lists === "org" ? new Double(Number(rest[0])) : decimal(rest[0]);
		const n = BigInt(rest[0]); return n >= -2147483648n && n <= 2147483647n ? Number(n) : n;
	}
	function string() { let j = i + 1; while (j < text.length && text[j] !== '"') j += text[j] === "\\" ? 2 : 1; if (j >= text.length) bad(); const s = text.slice(i, j + 1); i = j + 1; try { return JSON.parse(s.replace(/[\u0000-\u001f]/g, function (c) { return "\\u" + c.charCodeAt(0).toString(16).padStart(4, "0"); })); } catch (e) { bad(); } }
	parsed = value(0); space(); if (i < text.length) bad();
	return parsed;
}
function quoted(s) { return JSON.stringify(s).replace(/[\u007f-\uffff]/g, function (c) { return "\\u" + c.charCodeAt(0).toString(16).padStart(4, "0"); }); }
function jsonText(v, depth, pretty) {
	if (v === null || v === undefined) return "null";
	if (typeof v === "string") return quoted(v);
	if (v instanceof Char || v instanceof Builder) return quoted(str(v));
	if (isNumber(v) || typeof v === "boolean") return str(v);
	const nl = pretty ? "\n" + "    ".repeat(depth + 1) : "", end = pretty ? "\n" + "    ".repeat(depth) : "";
	if (Array.isArray(v) || v instanceof JSet) { const l = each(v); return l.length === 0 ? (pretty ? "[" + "\n" + nl.slice(1) + end + "]" : "[]") : "[" + l.map(function (x) { return nl + jsonText(x, depth + 1, pretty); }).join(",") + end + "]"; }
	if (v instanceof JMap) { const l = v.entries(); return l.length === 0 ? (pretty ? "{" + "\n" + nl.slice(1) + end + "}" : "{}") : "{" + l.map(function (e) { return nl + quoted(str(e[0])) + (pretty ? ": " : ":") + jsonText(e[1], depth + 1, pretty); }).join(",") + end + "}"; }
	if (v instanceof JUUID) return quoted(v.t);
	throw fails("whittle", "JSON of " + kindOf(v));
}
function sortBy(list, f) { if (f === undefined) return list.sort(compare); const g = f.f || f; return list.sort(f.$n === 2 || g.length === 2 ? function (a, c) { return Number(f(a, c)); } : function (a, c) { return compare(f(a), f(c)); }); }
function two(f) { return function (e) { return e instanceof Entry && f.length === 2 ? f(e.k, e.v) : f(e); }; }
function copyEntry(all) { const o = new JMap(); all.forEach(function (e) { o.set(e.k, e.v); }); return o; }
function random() { return $host.random(); }
function nextInt(a, c) { if (a === undefined) return narrow(Math.floor(random() * 4294967296)); if (c === undefined) { if (a <= 0) throw fails("java.lang.IllegalArgumentException", "bound must be positive"); return Math.floor(random() * Number(a)); } if (a >= c) throw fails("java.lang.IllegalArgumentException", "bound must be greater than origin"); return Number(a) + Math.floor(random() * (Number(c) - Number(a))); }
function randomText(n, from) { let out = ""; for (let i = 0; i < n; i++) out += from[Math.floor(random() * from.length)]; return out; }
function formatted(p, args) {
	let n = 0;
	return p.replace(/%(\d+\$)?([-+ 0,#]*)(\d+)?(?:\.(\d+))?([a-zA-Z%])/g, function (all, at, flags, width, precision, kind) {
		if (kind === "n") return "\n"; if (kind === "%") return "%";
		const v = args[at ? parseInt(at, 10) - 1 : n++]; let out, sign = "";
		if (v === undefined) throw fails("java.util.MissingFormatArgumentException", "Format specifier '" + all + "'");
		switch (kind) {
		case "s": out = str(v); if (precision !== undefined) out = out.slice(0, Number(precision)); break;
		case "S": out = str(v).toUpperCase(); break;
		case "d": if (!whole(v)) throw fails("java.util.IllegalFormatConversionException", "d != " + kindOf(v)); out = String(v); if (out[0] === "-") { sign = "-"; out = out.slice(1); } else if (flags.includes("+")) sign = "+"; if (flags.includes(",")) out = out.replace(/\B(?=(\d{3})+$)/g, ","); break;
		case "f": { if (whole(v) || !isNumber(v)) throw fails("java.util.IllegalFormatConversionException", "f != " + kindOf(v)); const d = toDecimal(v), p = precision === undefined ? 6 : Number(precision); let u = d.u < 0n ? -d.u : d.u; if (d.s > p) { const cut = 10n ** BigInt(d.s - p), rest = u % cut; u = u / cut + (rest * 2n >= cut ? 1n : 0n); } else u *= 10n ** BigInt(p - d.s); out = decimalText(new Decimal(u, p)); if (d.u < 0n) sign = "-"; else if (flags.includes("+")) sign = "+"; if (flags.includes(",")) out = out.replace(/\B(?=(\d{3})+(\.|$))/g, ","); break; }
		case "x": case "X": out = typeof v === "bigint" ? BigInt.asUintN(64, v).toString(16) : (v >>> 0).toString(16); if (kind === "X") out = out.toUpperCase(); break;
		case "b": out = String(t(v)); break;
		case "c": out = v instanceof Char ? v.c : str(v); break;
		default: throw fails("whittle", "the format " + all);
		}
		const w = Number(width || 0);
		if (flags.includes("-")) return (sign + out).padEnd(w);
		return flags.includes("0") && kind !== "s" ? sign + out.padStart(w - sign.length, "0") : (sign + out).padStart(w);
	});
}
function args1(f) { return function (x) { return f(x); }; }
function same(list, x) { return list.findIndex(function (y) { return equal(x, y); }); }
function bound(t, i) { if (i < 0 || i > t.length) throw fails("java.lang.StringIndexOutOfBoundsException", "String index out of range: " + i); return i; }
function inRange(l, i) { i = Number(i); if (i < 0 || i >= l.length) throw fails("java.lang.IndexOutOfBoundsException", "Index " + i + " out of bounds for length " + l.length); return i; }
function cased(c) { return typeof c === "number" ? String.fromCharCode(c) : str(c); }
