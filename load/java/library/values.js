// What scripts of Groovy and BeanShell call once they are JavaScript. A number is an int,
// a BigInt a long, a Double and a Decimal are objects; a text is a text, a List an Array,
// a Map a JMap, a byte[] a Bytes. $host is what the run lends: see load/jmeter.
function fails(kind, text) { const e = new Error(kind + (text === undefined || text === null ? "" : ": " + text)); e.java = kind; e.text = text === undefined ? null : text; return e; }
class Double { constructor(v) { this.v = v; } }
class Decimal { constructor(u, s) { this.u = u; this.s = s; } }
class Char { constructor(c) { this.c = c; } }
class Bytes { constructor(b) { this.b = b; } }
class JMap {
	constructor(sorted) { this.m = new Map(); this.sorted = sorted; }
	has(k) { return this.m.has(key(k)); }
	get(k) { const e = this.m.get(key(k)); return e === undefined ? null : e[1]; }
	set(k, v) { const at = key(k), e = this.m.get(at); this.m.set(at, [e ? e[0] : k, v]); return e ? e[1] : null; }
	delete(k) { const at = key(k), e = this.m.get(at); this.m.delete(at); return e ? e[1] : null; }
	entries() { const all = Array.from(this.m.values()); if (this.sorted) all.sort(function (a, b) { return compare(a[0], b[0]); }); return all; }
}
class JSet { constructor(sorted) { this.m = new JMap(sorted); } values() { return this.m.entries().map(function (e) { return e[0]; }); } }
class Entry { constructor(k, v, of) { this.k = k; this.v = v; this.of = of; } }
class Builder { constructor(t) { this.t = t; } }
class JDate { constructor(ms) { this.ms = ms; } }
class JInstant extends JDate { }
class Pattern { constructor(p, flags) { this.p = p; this.f = flags || ""; } re(more) { return regexp(this.p, this.f + (more || "")); } }
class Matcher { constructor(p, t) { this.p = p; this.t = t; this.at = 0; this.m = null; this.r = p.re("gd"); } }
class JRandom { }
class Format { constructor(p) { this.p = p; this.zone = ""; } }
class Json { constructor(v) { this.v = v; } }
class JUUID { constructor(t) { this.t = t; } }
class Thrown { constructor(kind, text) { this.kind = kind; this.text = text === undefined ? null : text; } }
class Calls { constructor(name, m) { this.name = name; this.m = m; } }
class Closure { constructor(f) { this.f = f; } }
class Digest { constructor(n) { this.n = n; this.b = []; } }
class Mac { constructor(n) { this.n = n; this.key = null; this.b = []; } }
class Key { constructor(b, n) { this.b = b; this.n = n; } }
class Reader { constructor(t) { this.lines = t.split(/\r\n|\r|\n/); if (this.lines[this.lines.length - 1] === "") this.lines.pop(); this.at = 0; } }
class JFile { constructor(p) { this.p = p; } }
class JURL {
	constructor(t) {
		const p = /^([a-zA-Z][a-zA-Z0-9+.-]*):(?:\/\/([^/?#]*))?([^?#]*)(?:\?([^#]*))?(?:#([^]*))?$/.exec(str(t).trim());
		if (!p || !/^(https?|file|ftp|jar)$/i.test(p[1])) throw new Error(t);
		const at = /^(?:([^]*)@)?(\[[^\]]*\]|[^:]*)(?::(\d*))?$/.exec(p[2] || "");
		if (!at) throw new Error(t);
		this.protocol = p[1].toLowerCase(); this.authority = p[2] || ""; this.host = at[2]; this.port = at[3] ? Number(at[3]) : -1;
		this.path = p[3]; this.query = nothing(p[4]); this.ref = nothing(p[5]);
	}
	file() { return this.path + (this.query === null ? "" : "?" + this.query); }
	text() { return this.protocol + ":" + (this.authority === "" ? "" : "//" + this.authority) + this.file() + (this.ref === null ? "" : "#" + this.ref); }
}

function key(k) { return k === null || k === undefined ? "n" : typeof k === "string" ? "s" + k : typeof k === "number" ? "i" + k : typeof k === "bigint" ? "l" + k : typeof k === "boolean" ? "b" + k : k instanceof Char ? "c" + k.c : "o" + str(k); }
function isNumber(v) { return typeof v === "number" || typeof v === "bigint" || v instanceof Double || v instanceof Decimal; }
function whole(v) { return typeof v === "number" || typeof v === "bigint"; }
function real(v) { return v instanceof Double ? v.v : v instanceof Decimal ? Number(decimalText(v)) : v instanceof Char ? v.c.charCodeAt(0) : Number(v); }
function decimalText(d) {
	let t = (d.u < 0n ? -d.u : d.u).toString();
	if (d.s > 0) { t = t.padStart(d.s + 1, "0"); t = t.slice(0, t.length - d.s) + "." + t.slice(t.length - d.s); }
	return (d.u < 0n ? "-" : "") + t;
}
function decimal(t) {
	t = String(t).trim();
	const m = /^([-+]?)(\d*)(?:\.(\d*))?(?:[eE]([-+]?\d+))?$/.exec(t);
	if (!m || m[2] + (m[3] || "") === "") throw fails("java.lang.NumberFormatException", t);
	const u = BigInt((m[1] === "-" ? "-" : "") + m[2] + (m[3] || "")), s = (m[3] || "").length - Number(m[4] || 0);
	return s < 0 ? new Decimal(u * 10n ** BigInt(-s), 0) : new Decimal(u, s);
}
function toDecimal(v) { return v instanceof Decimal ? v : v instanceof Double ? decimal(doubleText(v.v)) : new Decimal(BigInt(v), 0); }
function scaled(d, s) { return d.u * 10n ** BigInt(s - d.s); }
// doubleText is Double.toString.
function doubleText(v) {
	if (v !== v) return "NaN";
	if (v === Infinity || v === -Infinity) return v > 0 ? "Infinity" : "-Infinity";
	if (v === 0) return 1 / v < 0 ? "-0.0" : "0.0";
	const a = Math.abs(v);
	if (a >= 1e-3 && a < 1e7) { const t = String(v); return /e/.test(t) ? t : t.includes(".") ? t : t + ".0"; }
	let m = /^(-?)(\d)(?:\.(\d+))?e([-+]\d+)$/.exec(v.toExponential());
	return m[1] + m[2] + "." + (m[3] || "0") + "E" + Number(m[4]);
}
// groovyTexts says that a map's text is Groovy's.
let groovyTexts = true;
function str(v) {
	if (v === null || v === undefined) return "null";
	if (typeof v === "string") return v;
	if (typeof v === "number" || typeof v === "bigint" || typeof v === "boolean") return String(v);
	if (v instanceof Double) return doubleText(v.v);
	if (v instanceof Decimal) return decimalText(v);
	if (v instanceof Char) return v.c;
	if (v instanceof Json) return jsonText(v.v, 0, false);
	if (Array.isArray(v)) return "[" + v.map(str).join(", ") + "]";
	if (v instanceof JMap && groovyTexts) return v.m.size === 0 ? "[:]" : "[" + v.entries().map(function (e) { return str(e[0]) + ":" + str(e[1]); }).join(", ") + "]";
	if (v instanceof JMap) return "{" + v.entries().map(function (e) { return str(e[0]) + "=" + str(e[1]); }).join(", ") + "}";
	if (v instanceof JSet) return str(v.values());
	if (v instanceof Entry) return str(v.k) + "=" + str(v.v);
	if (v instanceof Builder || v instanceof JUUID) return v.t;
	if (v instanceof Thrown) return v.kind + (v.text === null ? "" : ": " + v.text);
	if (v instanceof JFile) return v.p;
	if (v instanceof Pattern) return v.p;
	if (v instanceof JURL) return v.text();
	if (v instanceof JInstant) return new Date(v.ms).toISOString().replace(".000Z", "Z");
	if (v instanceof JDate) return dated("EEE MMM dd HH:mm:ss zzz yyyy", v.ms);
	if (v instanceof Calls && v.m.toString && Object.prototype.hasOwnProperty.call(v.m, "toString")) return v.m.toString();
	throw fails("whittle", "the text of an object that has none of its own");
}
function t(v) {
	if (v === null || v === undefined || v === false) return false;
	if (v === true) return true;
	if (typeof v === "string") return v.length > 0;
	if (isNumber(v)) return real(v) !== 0;
	if (Array.isArray(v)) return v.length > 0;
	if (v instanceof JMap) return v.m.size > 0;
	if (v instanceof JSet) return v.m.m.size > 0;
	if (v instanceof Char) return v.c !== "\0";
	if (v instanceof Matcher) { v.at = 0; return v.r.test(v.t) ? (v.r.lastIndex = 0, true) : false; }
	return true;
}
function b(v) { if (v !== true && v !== false) throw fails("bsh.EvalError", "Condition must evaluate to a Boolean or boolean."); return v; }
const least = -(2n ** 63n);
function long(v) { return BigInt.asIntN(64, v); }
function narrow(v) { return v | 0; }
// arithmetic does an operation on two numbers in the class that Java gives the result.
function arithmetic(a, c, onInt, onLong, onReal, onDecimal) {
	if (a instanceof Char) a = a.c.charCodeAt(0);
	if (c instanceof Char) c = c.c.charCodeAt(0);
	if (!isNumber(a) || !isNumber(c)) throw fails("groovy.lang.MissingMethodException", "an operation on " + kindOf(a) + " and " + kindOf(c));
	if (a instanceof Double || c instanceof Double) return new Double(onReal(real(a), real(c)));
	if (a instanceof Decimal || c instanceof Decimal) return onDecimal(toDecimal(a), toDecimal(c));
	if (typeof a === "bigint" || typeof c === "bigint") return long(onLong(BigInt(a), BigInt(c)));
	return narrow(onInt(a, c));
}
function align(f) { return function (a, c) { const s = Math.max(a.s, c.s); return new Decimal(f(scaled(a, s), scaled(c, s)), s); }; }
function add(a, c) {
	// Of what is no text, number, null or collection Groovy has no sum, not with a text either.
	if (typeof a === "boolean" || a instanceof Char && typeof c === "string" || a instanceof JMap && !(c instanceof JMap || c instanceof Entry) || a instanceof JDate && !whole(c) || a instanceof JURL || a instanceof JUUID || a instanceof Thrown || a instanceof JFile) throw fails("groovy.lang.MissingMethodException", "No signature of method: " + kindOf(a) + ".plus() is applicable for argument types: (" + kindOf(c) + ") values: [" + str(c) + "]");
	if (a instanceof JSet) { const all = setOf(a.values(), "linked"); each(c instanceof JSet || Array.isArray(c) ? c : [c]).forEach(function (x) { all.m.set(x, true); }); return all; }
	if (typeof a === "string" || a instanceof Builder || typeof c === "string" && !Array.isArray(a)) return str(a) + str(c);
	if (Array.isArray(a)) return Array.isArray(c) ? a.concat(c) : c instanceof JSet ? a.concat(c.values()) : a.concat([c]);
	if (a instanceof JMap && c instanceof JMap) { const m = new JMap(); a.entries().concat(c.entries()).forEach(function (e) { m.set(e[0], e[1]); }); return m; }
	if (a instanceof JDate && whole(c)) return new JDate(later(a.ms, Number(c), 0));
	return arithmetic(a, c, function (x, y) { return x + y; }, function (x, y) { return x + y; }, function (x, y) { return x + y; }, align(function (x, y) { return x + y; }));
}
function addJ(a, c) { if (typeof a === "string" || typeof c === "string") return str(a) + str(c); return add(a, c); }
function sub(a, c) {
	if (typeof a === "string") { const i = a.indexOf(str(c)); return i < 0 ? a : a.slice(0, i) + a.slice(i + str(c).length); }
	if (Array.isArray(a)) { const out = Array.isArray(c) ? c : [c]; return a.filter(function (x) { return !out.some(function (y) { return eq(x, y); }); }); }
	if (a instanceof JDate && whole(c)) return new JDate(later(a.ms, -Number(c), 0));
	return arithmetic(a, c, function (x, y) { return x - y; }, function (x, y) { return x - y; }, function (x, y) { return x - y; }, align(function (x, y) { return x - y; }));
}
function mul(a, c) {
	if (typeof a === "string" && whole(c)) return a.repeat(Number(c));
	if (Array.isArray(a) && whole(c)) { let out = []; for (let i = 0; i < Number(c); i++) out = out.concat(a); return out; }
	return arithmetic(a, c, Math.imul, function (x, y) { return x * y; }, function (x, y) { return x * y; }, function (x, y) { return new Decimal(x.u * y.u, x.s + y.s); });
}
function zero(v) { if (real(v) === 0) throw fails("java.lang.ArithmeticException", "Division by zero"); }
function digits(d) { return String(d.u < 0n ? -d.u : d.u).length; }
// divided is Groovy's division of two decimals.
function divided(a, c) {
	if (c.u === 0n) throw fails("java.lang.ArithmeticException", "Division by zero");
	// An exact quotient that is short stays, as BigDecimal.divide gives it.
	const sign = (a.u < 0n) !== (c.u < 0n) ? -1n : 1n, n = a.u < 0n ? -a.u : a.u, d = c.u < 0n ? -c.u : c.u, prefer = a.s - c.s;
	const most = Math.min(digits(a) + Math.ceil(10 * digits(c) / 3), 2147483647);
	let s = prefer, num = n, rest;
	for (let i = 0; i <= most + 40; i++) {
		const shifted = s - prefer;
		num = n * 10n ** BigInt(Math.max(shifted, 0));
		if (num % d === 0n) {
			const q = new Decimal(sign * (num / d), s);
			if (digits(q) > most) break;
			return q.s < 0 ? new Decimal(q.u * 10n ** BigInt(-q.s), 0) : q;
		}
		s++;
	}
	const precision = Math.max(digits(a), digits(c)) + 10;
	s = prefer;
	while (String(n * 10n ** BigInt(Math.max(s - prefer, 0)) / d).length < precision + 1 && s < prefer + precision + 80) s++;
	num = n * 10n ** BigInt(s - prefer); let q = num / d; rest = num % d;
	while (String(q).length > precision) { const cut = q % 10n; q /= 10n; s--; if (cut > 5n || cut === 5n) q++; }
	let out = new Decimal(sign * q, s);
	const scale = Math.max(a.s, c.s, 10);
	while (out.s > scale) { const cut = (out.u < 0n ? -out.u : out.u) % 10n; out = new Decimal(out.u / 10n + (cut >= 5n ? sign : 0n), out.s - 1); }
	while (out.s > 0 && out.u % 10n === 0n && out.s > prefer) out = new Decimal(out.u / 10n, out.s - 1);
	return out;
}
function div(a, c) {
	if (whole(a) && whole(c)) { const q = divided(toDecimal(a), toDecimal(c)); return q; }
	return arithmetic(a, c, null, null, function (x, y) { return x / y; }, divided);
}
function divJ(a, c) {
	return arithmetic(a, c, function (x, y) { zero(y); return Math.trunc(x / y); }, function (x, y) { zero(y); return x / y; }, function (x, y) { return x / y; }, divided);
}
function mod(a, c) { return arithmetic(a, c, function (x, y) { zero(y); return x % y; }, function (x, y) { zero(y); return x % y; }, function (x, y) { return x % y; }, align(function (x, y) { return x % y; })); }
function pow(a, c) {
	if (whole(a) && whole(c) && Number(c) >= 0) { const p = BigInt(a) ** BigInt(c); return p >= -2147483648n && p <= 2147483647n ? Number(p) : long(p); }
	return new Double(Math.pow(real(a), real(c)));
}
function neg(a) { return sub(a instanceof Double ? new Double(-0) : 0, a); }
function not(a) { if (typeof a === "string") return new Pattern(a); return typeof a === "bigint" ? long(~a) : ~a; }
function bits(f, g) { return function (a, c) { if (typeof a === "boolean" && typeof c === "boolean") return f(a ? 1 : 0, c ? 1 : 0) !== 0; return typeof a === "bigint" || typeof c === "bigint" ? long(g(BigInt(a), BigInt(c))) : narrow(f(real(a), real(c))); }; }
const and = bits(function (x, y) { return x & y; }, function (x, y) { return x & y; }), orBits = bits(function (x, y) { return x | y; }, function (x, y) { return x | y; }), xor = bits(function (x, y) { return x ^ y; }, function (x, y) { return x ^ y; });
function shl(a, c) {
	if (Array.isArray(a)) { a.push(c); return a; }
	if (a instanceof JSet) { a.m.set(c, true); return a; }
	if (a instanceof Builder) { a.t += str(c); return a; }
	if (typeof a === "string") return a + str(c);
	return typeof a === "bigint" ? long(a << (BigInt(c) & 63n)) : real(a) << Number(c);
}
function shr(a, c) { return typeof a === "bigint" ? a >> (BigInt(c) & 63n) : real(a) >> Number(c); }
function ushr(a, c) { return typeof a === "bigint" ? long(BigInt.asUintN(64, a) >> (BigInt(c) & 63n)) : narrow(real(a) >>> Number(c)); }
function compare(a, c) {
	if (a instanceof Char) a = typeof c === "string" ? a.c : a.c.charCodeAt(0);
	if (c instanceof Char) c = typeof a === "string" ? c.c : c.c.charCodeAt(0);
	if (isNumber(a) && isNumber(c)) {
		if (whole(a) && whole(c)) return a < c ? -1 : a > c ? 1 : 0;
		if (a instanceof Decimal && !(c instanceof Double) || c instanceof Decimal && !(a instanceof Double)) { const x = toDecimal(a), y = toDecimal(c), s = Math.max(x.s, y.s), p = scaled(x, s), q = scaled(y, s); return p < q ? -1 : p > q ? 1 : 0; }
		const x = real(a), y = real(c); return x < y ? -1 : x > y ? 1 : 0;
	}
	if (typeof a === "string" && typeof c === "string") return compareTexts(a, c);
	if (typeof a === "boolean" && typeof c === "boolean") return a === c ? 0 : a ? 1 : -1;
	if (a instanceof JDate && c instanceof JDate) return a.ms < c.ms ? -1 : a.ms > c.ms ? 1 : 0;
	if (a === null || c === null) return a === c ? 0 : a === null ? -1 : 1;
	throw fails("java.lang.IllegalArgumentException", "Cannot compare " + kindOf(a) + " with " + kindOf(c));
}
function compareTexts(a, c) { for (let i = 0; i < a.length && i < c.length; i++) if (a.charCodeAt(i) !== c.charCodeAt(i)) return a.charCodeAt(i) - c.charCodeAt(i); return a.length - c.length; }
// equal is equals of Java: a number of another class is another.
function equal(a, c) {
	if (a === undefined) a = null; if (c === undefined) c = null;
	if (a === null || c === null) return a === c;
	if (isNumber(a) || isNumber(c)) return kindOf(a) === kindOf(c) && (a instanceof Decimal ? a.u === c.u && a.s === c.s : real(a) === real(c) && (!whole(a) || a === c));
	return alike(a, c, equal);
}
function alike(a, c, by) {
	if (a === c) return true;
	if (Array.isArray(a) && Array.isArray(c)) return a.length === c.length && a.every(function (x, i) { return by(x, c[i]); });
	if (a instanceof JMap && c instanceof JMap) return a.m.size === c.m.size && a.entries().every(function (e) { return c.has(e[0]) && by(e[1], c.get(e[0])); });
	if (a instanceof JSet && c instanceof JSet) return a.m.m.size === c.m.m.size && a.values().every(function (x) { return c.m.has(x); });
	if (a instanceof Char && c instanceof Char) return a.c === c.c;
	if (a instanceof JUUID && c instanceof JUUID) return a.t === c.t;
	if (a instanceof JDate && c instanceof JDate) return a.ms === c.ms;
	if (a instanceof Bytes && c instanceof Bytes) return a.b.length === c.b.length && a.b.every(function (x, i) { return x === c.b[i]; });
	return false;
}
function eq(a, c) {
	if (a === undefined) a = null; if (c === undefined) c = null;
	if (a === null || c === null) return a === c;
	if (isNumber(a) && isNumber(c)) return compare(a, c) === 0;
	if (a instanceof Char && (typeof c === "string" || isNumber(c)) || c instanceof Char && (typeof a === "string" || isNumber(a))) return typeof a === "string" || typeof c === "string" ? str(a) === str(c) : compare(a, c) === 0;
	return alike(a, c, eq);
}
// eqJ is == of Java: of numbers by value, of objects by whether they are one.
function eqJ(a, c) {
	if (a === undefined || c === undefined) return a === c;
	if (a === null || c === null) return a === c;
	if ((isNumber(a) || a instanceof Char) && (isNumber(c) || c instanceof Char)) return compare(a, c) === 0;
	if (typeof a === "string" && typeof c === "string") {
		if (a !== c) return false;
		throw fails("whittle", "== of two equal texts, which in Java depends on whether they are one object: equals says what is meant");
	}
	return a === c;
}
function kindOf(v) {
	return v === null || v === undefined ? "null" : typeof v === "string" ? "java.lang.String" : typeof v === "number" ? "java.lang.Integer" : typeof v === "bigint" ? "java.lang.Long" : typeof v === "boolean" ? "java.lang.Boolean" :
		v instanceof Double ? "java.lang.Double" : v instanceof Decimal ? "java.math.BigDecimal" : v instanceof Char ? "java.lang.Character" : Array.isArray(v) ? "java.util.ArrayList" : v instanceof JMap ? "java.util.LinkedHashMap" :
		v instanceof JSet ? "java.util.HashSet" : v instanceof Bytes ? "byte[]" : v instanceof Closure || typeof v === "function" ? "groovy.lang.Closure" : v instanceof Calls ? v.name : v instanceof Thrown ? v.kind : v.constructor ? v.constructor.name : "java.lang.Object";
}
