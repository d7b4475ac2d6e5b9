// What scripts of Groovy and BeanShell call once they are JavaScript. A number is an int,
// a BigInt a long, a Double and a Decimal are objects; a text is a text, a List an Array,
// a Map a JMap, a byte[] a Bytes. $host is what the run lends: see load/jmeter.
(function () {
"use strict";
if (globalThis.$j) return;
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
class Pattern { constructor(p, flags) { this.p = p; this.f = flags || ""; } re(more) { return regexp(this.p, this.f + (more || "")); } }
class Matcher { constructor(p, t) { this.p = p; this.t = t; this.at = 0; this.m = null; this.r = p.re("gd"); } }
class JRandom { }
class Format { constructor(p) { this.p = p; } }
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
class JURL { constructor(t) { this.u = new URL(t); } }

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
	if (v instanceof JURL) return v.u.href;
	if (v instanceof JDate) return $host.date("EEE MMM dd HH:mm:ss", v.ms) + " UTC " + $host.date("yyyy", v.ms);
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
	if (typeof a === "string" || a instanceof Builder || typeof c === "string" && !Array.isArray(a)) return str(a) + str(c);
	if (Array.isArray(a)) return Array.isArray(c) ? a.concat(c) : c instanceof JSet ? a.concat(c.values()) : a.concat([c]);
	if (a instanceof JMap && c instanceof JMap) { const m = new JMap(); a.entries().concat(c.entries()).forEach(function (e) { m.set(e[0], e[1]); }); return m; }
	if (a instanceof JDate && whole(c)) return new JDate(a.ms + Number(c) * 86400000);
	return arithmetic(a, c, function (x, y) { return x + y; }, function (x, y) { return x + y; }, function (x, y) { return x + y; }, align(function (x, y) { return x + y; }));
}
function addJ(a, c) { if (typeof a === "string" || typeof c === "string") return str(a) + str(c); return add(a, c); }
function sub(a, c) {
	if (typeof a === "string") { const i = a.indexOf(str(c)); return i < 0 ? a : a.slice(0, i) + a.slice(i + str(c).length); }
	if (Array.isArray(a)) { const out = Array.isArray(c) ? c : [c]; return a.filter(function (x) { return !out.some(function (y) { return eq(x, y); }); }); }
	if (a instanceof JDate && whole(c)) return new JDate(a.ms - Number(c) * 86400000);
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
	if (v instanceof JFile && name === "text") return $host.file(v.p);
	throw fails("groovy.lang.MissingPropertyException", "No such property: " + name + " for class: " + kindOf(v));
}
function set(v, name, x) {
	if (v instanceof JMap) { v.set(name, x); return x; }
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

// The tables: the methods of values, which get the value first.
const m = {
	Any: {
		toString(v) { return str(v); },
		equals(v, x) { return equal(v, x); },
		hashCode(v) { if (typeof v === "string") { let h = 0; for (let i = 0; i < v.length; i++) h = Math.imul(31, h) + v.charCodeAt(i) | 0; return h; } if (typeof v === "number") return v; throw fails("whittle", "hashCode of " + kindOf(v)); },
		compareTo(v, x) { return compare(v, x); },
		isInstance(v) { throw fails("whittle", "isInstance"); },
		is(v, x) { return v === x; },
		with(v, f) { return f(v); },
		inspect(v) { return typeof v === "string" ? "'" + v + "'" : str(v); },
	},
	String: {
		length(s) { return s.length; },
		size(s) { return s.length; },
		isEmpty(s) { return s.length === 0; },
		isBlank(s) { return s.trim() === ""; },
		trim(s) { return s.replace(/^[\u0000-\u0020]+|[\u0000-\u0020]+$/g, ""); },
		strip(s) { return s.trim(); },
		substring(s, a, c) { a = bound(s, Number(a)); c = c === undefined ? s.length : bound(s, Number(c)); if (a > c) throw fails("java.lang.StringIndexOutOfBoundsException", "begin " + a + ", end " + c); return s.slice(a, c); },
		subSequence(s, a, c) { return s.slice(a, c); },
		charAt(s, i) { if (i < 0 || i >= s.length) throw fails("java.lang.StringIndexOutOfBoundsException", "index " + i); return new Char(s[i]); },
		codePointAt(s, i) { return s.codePointAt(i); },
		indexOf(s, x, from) { return s.indexOf(cased(x), from); },
		lastIndexOf(s, x, from) { return from === undefined ? s.lastIndexOf(cased(x)) : s.lastIndexOf(cased(x), from); },
		contains(s, x) { return s.includes(str(x)); },
		startsWith(s, x) { return s.startsWith(x); },
		endsWith(s, x) { return s.endsWith(x); },
		equalsIgnoreCase(s, x) { return typeof x === "string" && s.toLowerCase() === x.toLowerCase(); },
		compareToIgnoreCase(s, x) { return compareTexts(s.toLowerCase(), x.toLowerCase()); },
		concat(s, x) { return s + x; },
		toUpperCase(s) { return s.toUpperCase(); },
		toLowerCase(s) { return s.toLowerCase(); },
		capitalize(s) { return s === "" ? s : s[0].toUpperCase() + s.slice(1); },
		uncapitalize(s) { return s === "" ? s : s[0].toLowerCase() + s.slice(1); },
		replace(s, a, c) { return s.split(str(a)).join(str(c)); },
		replaceAll(s, p, by) { const r = p instanceof Pattern ? p.p : str(p); if (typeof by === "function") return s.replace(regexp(r, "g"), function () { const g = Array.from(arguments).slice(0, -2).map(nothing); return str(by.length > 1 ? by.apply(null, g) : by(g.length > 1 ? g : g[0])); }); return replaced(s, r, str(by), true); },
		replaceFirst(s, p, by) { return replaced(s, p instanceof Pattern ? p.p : str(p), str(by), false); },
		matches(s, p) { return new RegExp("^(?:" + regexp(str(p), "").source + ")$").test(s); },
		split(s, p, n) { return p === undefined ? s.trim().split(/\s+/).filter(function (x) { return x !== ""; }) : split(s, p instanceof Pattern ? p.p : str(p), n === undefined ? undefined : Number(n)); },
		tokenize(s, by) { const d = by === undefined ? " \t\n\r\f" : str(by); const out = []; let w = ""; for (const c of s) { if (d.includes(c)) { if (w) out.push(w); w = ""; } else w += c; } if (w) out.push(w); return out; },
		readLines(s) { return new Reader(s).lines; },
		eachLine(s, f) { new Reader(s).lines.forEach(function (l) { f(l); }); return null; },
		toCharArray(s) { return Array.from({ length: s.length }, function (_, i) { return new Char(s[i]); }); },
		toList(s) { return Array.from(s); },
		toInteger(s) { return int(s.trim()); },
		toLong(s) { return longOf(s.trim()); },
		toDouble(s) { return doubleOf(s); },
		toBigDecimal(s) { return decimal(s); },
		toBoolean(s) { return /^(true|y|1)$/i.test(s.trim()); },
		isNumber(s) { return /^\s*[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?\s*$/.test(s); },
		isInteger(s) { return /^\s*[-+]?\d+\s*$/.test(s) && integer(s.trim()) <= 2147483647n && integer(s.trim()) >= -2147483648n; },
		isLong(s) { return /^\s*[-+]?\d+\s*$/.test(s); },
		isDouble(s) { return m.String.isNumber(s); },
		getBytes(s, charset) { return new Bytes(bytesOf(s, charset)); },
		padLeft(s, n, by) { return s.padStart(Number(n), by); },
		padRight(s, n, by) { return s.padEnd(Number(n), by); },
		center(s, n) { const k = Number(n) - s.length; return k <= 0 ? s : " ".repeat(k >> 1) + s + " ".repeat(k - (k >> 1)); },
		repeat(s, n) { return s.repeat(Number(n)); },
		multiply(s, n) { return s.repeat(Number(n)); },
		plus(s, x) { return s + str(x); },
		reverse(s) { return Array.from(s).reverse().join(""); },
		count(s, x) { return s.split(str(x)).length - 1; },
		take(s, n) { return s.slice(0, Number(n)); },
		drop(s, n) { return s.slice(Number(n)); },
		find(s, p) { const x = regexp(p instanceof Pattern ? p.p : str(p), "").exec(s); return x ? x[0] : null; },
		findAll(s, p) { return each(new Matcher(p instanceof Pattern ? p : new Pattern(str(p)), s)).map(function (x) { return Array.isArray(x) ? x[0] : x; }); },
		each(s, f) { for (const c of s) f(c); return s; },
		collect(s, f) { return Array.from(s).map(args1(f)); },
		stripIndent(s) { const ls = s.split("\n"), n = Math.min.apply(null, ls.filter(function (l) { return l.trim(); }).map(function (l) { return l.length - l.trimStart().length; })); return ls.map(function (l) { return l.slice(n); }).join("\n"); },
		stripMargin(s) { return s.split("\n").map(function (l) { return l.replace(/^\s*\|/, ""); }).join("\n"); },
		encodeBase64(s) { return base64(bytesOf(s)); },
		decodeBase64(s) { return new Bytes(unbase64(s)); },
		intern(s) { return s; },
		format(s) { return formatted(s, Array.prototype.slice.call(arguments, 1)); },
		formatted(s) { return formatted(s, Array.prototype.slice.call(arguments, 1)); },
		md5(s) { return hex(hash("MD5", utf8(s))); },
		sha256(s) { return hex(hash("SHA-256", utf8(s))); },
		digest(s, n) { return hex(hash(n, utf8(s))); },
	},
	Char: {
		charValue(c) { return c; },
		isDigit(c) { return /\d/.test(c.c); },
		isLetter(c) { return /\p{L}/u.test(c.c); },
	},
	Boolean: {
		booleanValue(v) { return v; },
	},
	Number: {
		intValue(n) { return toInt(n); },
		longValue(n) { return toLong(n); },
		doubleValue(n) { return new Double(real(n)); },
		toInteger(n) { return toInt(n); },
		toLong(n) { return toLong(n); },
		toDouble(n) { return new Double(real(n)); },
		toBigDecimal(n) { return toDecimal(n); },
		intdiv(n, x) { return divJ(n, x); },
		mod(n, x) { return arithmetic(n, x, function (a, c) { const r = a % c; return r < 0 ? r + c : r; }, function (a, c) { const r = a % c; return r < 0n ? r + c : r; }, null, null); },
		plus(n, x) { return add(n, x); },
		minus(n, x) { return sub(n, x); },
		multiply(n, x) { return mul(n, x); },
		divide(n, x) { return div(n, x); },
		power(n, x) { return pow(n, x); },
		abs(n) { return compare(n, 0) < 0 ? neg(n) : n; },
		round(n, d) { return rounded(n, d); },
		times(n, f) { for (let i = 0; i < Number(n); i++) f(i); return null; },
		upto(n, to, f) { for (let i = Number(n); i <= Number(to); i++) f(i); return null; },
		downto(n, to, f) { for (let i = Number(n); i >= Number(to); i--) f(i); return null; },
		step(n, to, by, f) { for (let i = Number(n); i < Number(to); i += Number(by)) f(i); return null; },
		setScale(n, d, way) { if (way !== undefined && way !== "HALF_UP" && way !== 4) throw fails("whittle", "rounding by " + str(way)); const x = toDecimal(n), p = Number(d); if (x.s <= p) return new Decimal(scaled(x, p), p); const cut = 10n ** BigInt(x.s - p); let u = x.u < 0n ? -x.u : x.u; u = u / cut + (u % cut * 2n >= cut ? 1n : 0n); return new Decimal(x.u < 0n ? -u : u, p); },
	},
	List: {
		size(l) { return l.length; },
		length(l) { return l.length; },
		isEmpty(l) { return l.length === 0; },
		get(l, i) { return l[inRange(l, i)]; },
		getAt(l, i) { return at(l, i); },
		set(l, i, x) { i = inRange(l, i); const old = l[i]; l[i] = x; return old; },
		add(l, i, x) { if (arguments.length === 3) { l.splice(Number(i), 0, x); return null; } l.push(i); return true; },
		addAll(l, x) { each(x).forEach(function (y) { l.push(y); }); return true; },
		push(l, x) { l.unshift(x); return true; },
		pop(l) { return l.length ? l.shift() : (function () { throw fails("java.util.NoSuchElementException", "Cannot pop() an empty List"); })(); },
		poll(l) { return l.length ? l.shift() : null; },
		addLast(l, x) { l.push(x); return null; },
		addFirst(l, x) { l.unshift(x); return null; },
		removeFirst(l) { return l.shift(); },
		removeLast(l) { return l.pop(); },
		remove(l, i) { if (typeof i === "number") return l.splice(inRange(l, i), 1)[0]; const n = same(l, i); if (n >= 0) l.splice(n, 1); return n >= 0; },
		removeAt(l, i) { return l.splice(inRange(l, i), 1)[0]; },
		removeAll(l, x) { const gone = each(x); const n = l.length; for (let i = l.length - 1; i >= 0; i--) if (same(gone, l[i]) >= 0) l.splice(i, 1); return n !== l.length; },
		clear(l) { l.length = 0; return null; },
		contains(l, x) { return same(l, x) >= 0; },
		containsAll(l, x) { return each(x).every(function (y) { return same(l, y) >= 0; }); },
		indexOf(l, x) { return same(l, x); },
		first(l) { if (!l.length) throw fails("java.util.NoSuchElementException", "Cannot access first() element from an empty List"); return l[0]; },
		last(l) { if (!l.length) throw fails("java.util.NoSuchElementException", "Cannot access last() element from an empty List"); return l[l.length - 1]; },
		head(l) { return l[0]; },
		tail(l) { return l.slice(1); },
		take(l, n) { return l.slice(0, Number(n)); },
		drop(l, n) { return l.slice(Number(n)); },
		subList(l, a, c) { return l.slice(Number(a), Number(c)); },
		join(l, by) { return l.map(str).join(by === undefined ? "" : str(by)); },
		each(l, f) { l.slice().forEach(function (x) { two(f)(x); }); return l; },
		forEach(l, f) { l.slice().forEach(function (x) { f(x); }); return null; },
		eachWithIndex(l, f) { l.slice().forEach(function (x, i) { f(x, i); }); return l; },
		collect(l, f) { return l.map(two(f)); },
		collectEntries(l, f) { const o = new JMap(); l.forEach(function (x) { const e = f(x); if (e instanceof JMap) e.entries().forEach(function (y) { o.set(y[0], y[1]); }); else o.set(e[0], e[1]); }); return o; },
		find(l, f) { const x = l.find(function (y) { return t(two(f)(y)); }); return nothing(x); },
		findAll(l, f) { return l.filter(function (y) { return f === undefined ? t(y) : t(two(f)(y)); }); },
		findIndexOf(l, f) { return l.findIndex(function (y) { return t(f(y)); }); },
		any(l, f) { return l.some(function (y) { return t(two(f)(y)); }); },
		every(l, f) { return l.every(function (y) { return t(two(f)(y)); }); },
		count(l, f) { return l.filter(function (y) { return typeof f === "function" ? t(f(y)) : eq(y, f); }).length; },
		withIndex(l) { return l.map(function (x, i) { return [x, i]; }); },
		collectMany(l, f) { return l.reduce(function (a, x) { return a.concat(each(f(x))); }, []); },
		indices(l) { return l.map(function (x, i) { return i; }); },
		inject(l, from, f) { if (f === undefined) return l.slice(1).reduce(function (a, x) { return from(a, x); }, l[0]); return l.reduce(function (a, x) { return f(a, x); }, from); },
		sum(l, f) { return l.length === 0 ? null : l.map(function (x) { return f === undefined ? x : f(x); }).reduce(function (a, x) { return add(a, x); }); },
		max(l, f) { return l.length === 0 ? null : l.reduce(function (a, x) { return (f ? compare(f(x), f(a)) : compare(x, a)) > 0 ? x : a; }); },
		min(l, f) { return l.length === 0 ? null : l.reduce(function (a, x) { return (f ? compare(f(x), f(a)) : compare(x, a)) < 0 ? x : a; }); },
		sort(l, f) { if (typeof f === "boolean") f = undefined; return sortBy(l, f); },
		toSorted(l, f) { return sortBy(l.slice(), f); },
		reverse(l) { return l.slice().reverse(); },
		unique(l) { const out = []; l.forEach(function (x) { if (!out.some(function (y) { return eq(x, y); })) out.push(x); }); l.length = 0; out.forEach(function (x) { l.push(x); }); return l; },
		toUnique(l) { return m.List.unique(l.slice()); },
		flatten(l) { return l.reduce(function (a, x) { return a.concat(Array.isArray(x) ? m.List.flatten(x) : [x]); }, []); },
		collate(l, n) { const out = []; for (let i = 0; i < l.length; i += Number(n)) out.push(l.slice(i, i + Number(n))); return out; },
		groupBy(l, f) { const o = new JMap(); l.forEach(function (x) { const k = f(x); if (!o.has(k)) o.set(k, []); o.get(k).push(x); }); return o; },
		shuffled(l) { return shuffle(l.slice()); },
		shuffle(l) { shuffle(l); return null; },
		toArray(l) { return l.slice(); },
		toList(l) { return l.slice(); },
		toSet(l) { return make("LinkedHashSet", l); },
		asList(l) { return l; },
		iterator(l) { let i = 0; return new Calls("java.util.Iterator", { hasNext: function () { return i < l.length; }, next: function () { return l[i++]; } }); },
		stream(l) { throw fails("whittle", "stream"); },
		plus(l, x) { return add(l, x); },
		minus(l, x) { return sub(l, x); },
		leftShift(l, x) { return shl(l, x); },
		getJSONObject(l, i) { return l[inRange(l, i)]; },
		getString(l, i) { return str(l[inRange(l, i)]); },
	},
	Map: {
		get(o, k, other) { if (other !== undefined && !o.has(k)) o.set(k, other); return o.get(k); },
		getAt(o, k) { return o.get(k); },
		getOrDefault(o, k, d) { return o.has(k) ? o.get(k) : d; },
		put(o, k, v) { return o.set(k, v); },
		putAt(o, k, v) { return o.set(k, v); },
		putAll(o, x) { x.entries().forEach(function (e) { o.set(e[0], e[1]); }); return null; },
		putIfAbsent(o, k, v) { return o.has(k) ? o.get(k) : o.set(k, v); },
		remove(o, k) { return o.delete(k); },
		containsKey(o, k) { return o.has(k); },
		containsValue(o, v) { return o.entries().some(function (e) { return equal(e[1], v); }); },
		size(o) { return o.m.size; },
		isEmpty(o) { return o.m.size === 0; },
		clear(o) { o.m.clear(); return null; },
		keySet(o) { return keysOf(o); },
		values(o) { return o.entries().map(function (e) { return e[1]; }); },
		entrySet(o) { return each(o); },
		each(o, f) { each(o).forEach(function (e) { two(f)(e); }); return o; },
		forEach(o, f) { each(o).forEach(function (e) { f(e.k, e.v); }); return null; },
		eachWithIndex(o, f) { each(o).forEach(function (e, i) { f(e, i); }); return o; },
		collect(o, f) { return each(o).map(function (e) { return two(f)(e); }); },
		collectEntries(o, f) { return m.List.collectEntries(each(o).map(function (e) { return two(f)(e); }), function (x) { return x; }); },
		find(o, f) { return nothing(each(o).find(function (e) { return t(two(f)(e)); })); },
		findAll(o, f) { return copyEntry(each(o).filter(function (e) { return t(two(f)(e)); })); },
		any(o, f) { return each(o).some(function (e) { return t(two(f)(e)); }); },
		every(o, f) { return each(o).every(function (e) { return t(two(f)(e)); }); },
		count(o, f) { return each(o).filter(function (e) { return t(two(f)(e)); }).length; },
		sort(o, f) { const all = each(o); return copyEntry(f === undefined ? all.sort(function (a, c) { return compare(a.k, c.k); }) : sortBy(all, f)); },
		subMap(o, ks) { const out = new JMap(); each(ks).forEach(function (k) { if (o.has(k)) out.set(k, o.get(k)); }); return out; },
		plus(o, x) { return add(o, x); },
	},
	Set: {
		size(s) { return s.m.m.size; },
		isEmpty(s) { return s.m.m.size === 0; },
		add(s, x) { const is = s.m.has(x); s.m.set(x, true); return !is; },
		addAll(s, x) { each(x).forEach(function (y) { s.m.set(y, true); }); return true; },
		remove(s, x) { const is = s.m.has(x); s.m.delete(x); return is; },
		contains(s, x) { return s.m.has(x); },
		clear(s) { s.m.m.clear(); return null; },
		each(s, f) { s.values().forEach(function (x) { f(x); }); return s; },
		toList(s) { return s.values(); },
		toArray(s) { return s.values(); },
		collect(s, f) { return s.values().map(args1(f)); },
		find(s, f) { return m.List.find(s.values(), f); },
		findAll(s, f) { return make("LinkedHashSet", m.List.findAll(s.values(), f)); },
		any(s, f) { return m.List.any(s.values(), f); },
		join(s, by) { return m.List.join(s.values(), by); },
		sort(s, f) { return sortBy(s.values(), f); },
		iterator(s) { return m.List.iterator(s.values()); },
		first(s) { return m.List.first(s.values()); },
	},
	Entry: {
		getKey(e) { return e.k; },
		getValue(e) { return e.v; },
		setValue(e, v) { e.of.set(e.k, v); const old = e.v; e.v = v; return old; },
	},
	Builder: {
		append(o, x) { o.t += str(x); return o; },
		insert(o, i, x) { o.t = o.t.slice(0, Number(i)) + str(x) + o.t.slice(Number(i)); return o; },
		length(o) { return o.t.length; },
		size(o) { return o.t.length; },
		reverse(o) { o.t = Array.from(o.t).reverse().join(""); return o; },
		charAt(o, i) { return m.String.charAt(o.t, i); },
		setLength(o, n) { o.t = o.t.slice(0, Number(n)).padEnd(Number(n), "\0"); return null; },
		deleteCharAt(o, i) { o.t = o.t.slice(0, Number(i)) + o.t.slice(Number(i) + 1); return o; },
		delete(o, a, c) { o.t = o.t.slice(0, Number(a)) + o.t.slice(Number(c)); return o; },
		setCharAt(o, i, c) { o.t = o.t.slice(0, Number(i)) + str(c) + o.t.slice(Number(i) + 1); return null; },
		replace(o, a, c, x) { o.t = o.t.slice(0, Number(a)) + x + o.t.slice(Number(c)); return o; },
		indexOf(o, x) { return o.t.indexOf(x); },
		lastIndexOf(o, x) { return o.t.lastIndexOf(x); },
		substring(o, a, c) { return m.String.substring(o.t, a, c); },
		contains(o, x) { return o.t.includes(x); },
		isEmpty(o) { return o.t === ""; },
	},
	Bytes: {
		size(v) { return v.b.length; },
		encodeBase64(v) { return new Builder(base64(v.b)); },
		encodeHex(v) { return new Builder(hex(v.b)); },
		each(v, f) { v.b.forEach(function (x) { f(x); }); return v; },
		collect(v, f) { return v.b.map(args1(f)); },
	},
	Date: {
		getTime(d) { return BigInt(d.ms); },
		setTime(d, n) { d.ms = Number(n); return null; },
		format(d, p) { return dated(p, d.ms); },
		before(d, x) { return d.ms < x.ms; },
		after(d, x) { return d.ms > x.ms; },
		plus(d, n) { return new JDate(d.ms + Number(n) * 86400000); },
		minus(d, n) { return new JDate(d.ms - Number(n) * 86400000); },
		toInstant(d) { return d; },
		toEpochMilli(d) { return BigInt(d.ms); },
		getEpochSecond(d) { return BigInt(Math.floor(d.ms / 1000)); },
		plusSeconds(d, n) { return new JDate(d.ms + Number(n) * 1000); },
		plusMinutes(d, n) { return new JDate(d.ms + Number(n) * 60000); },
		plusHours(d, n) { return new JDate(d.ms + Number(n) * 3600000); },
		plusDays(d, n) { return new JDate(d.ms + Number(n) * 86400000); },
		plusWeeks(d, n) { return new JDate(d.ms + Number(n) * 604800000); },
		minusSeconds(d, n) { return new JDate(d.ms - Number(n) * 1000); },
		minusMinutes(d, n) { return new JDate(d.ms - Number(n) * 60000); },
		minusHours(d, n) { return new JDate(d.ms - Number(n) * 3600000); },
		minusDays(d, n) { return new JDate(d.ms - Number(n) * 86400000); },
		toString(d) { return str(d); },
		getTimeInMillis(d) { return BigInt(d.ms); },
	},
	Format: {
		format(f, d) { if (d instanceof JDate) return dated(f.p, d.ms); if (whole(d)) return dated(f.p, Number(d)); throw fails("java.lang.IllegalArgumentException", "Cannot format given Object as a Date"); },
		setTimeZone() { return null; },
		setLenient() { return null; },
		parse(f, t) { const ms = $host.parseDate(f.p, t); if (ms === null) throw fails("java.text.ParseException", 'Unparseable date: "' + t + '"'); return new JDate(ms); },
	},
	Pattern: {
		matcher(p, x) { return new Matcher(p, str(x)); },
		pattern(p) { return p.p; },
		split(p, x) { return split(str(x), p.p); },
	},
	Matcher: {
		find(x) { x.r.lastIndex = x.at; x.m = x.r.exec(x.t); if (x.m) x.at = x.m.index + Math.max(x.m[0].length, 1); return x.m !== null; },
		matches(x) { x.m = new RegExp("^(?:" + x.r.source + ")$", x.r.flags.replace("g", "")).exec(x.t); return x.m !== null; },
		lookingAt(x) { x.m = new RegExp("^(?:" + x.r.source + ")", x.r.flags.replace("g", "")).exec(x.t); return x.m !== null; },
		group(x, n) { if (!x.m) throw fails("java.lang.IllegalStateException", "No match found"); if (n === undefined) n = 0; if (typeof n === "string") return nothing(x.m.groups && x.m.groups[n]); if (n >= x.m.length) throw fails("java.lang.IndexOutOfBoundsException", "No group " + n); return nothing(x.m[n]); },
		groupCount(x) { return new RegExp(x.r.source + "|").exec("").length - 1; },
		start(x) { return x.m.index; },
		end(x) { return x.m.index + x.m[0].length; },
		reset(x) { x.at = 0; return x; },
		replaceAll(x, by) { return replaced(x.t, x.p.p, by, true); },
		getCount(x) { return each(x).length; },
		size(x) { return each(x).length; },
		each(x, f) { each(x).forEach(function (y) { if (f.length > 1 && Array.isArray(y)) f.apply(null, y); else f(y); }); return x; },
		collect(x, f) { return each(x).map(function (y) { return f.length > 1 && Array.isArray(y) ? f.apply(null, y) : f(y); }); },
		hasGroup(x) { return m.Matcher.groupCount(x) > 0; },
	},
	Random: {
		nextInt(r, a, c) { return nextInt(a, c); },
		nextLong(r, a, c) { return a === undefined ? long(BigInt(Math.floor(random() * 4294967296)) << 32n | BigInt(Math.floor(random() * 4294967296))) : BigInt(Math.floor(Number(a) + random() * (Number(c) - Number(a)))); },
		nextDouble() { return new Double(random()); },
		nextBoolean() { return random() < 0.5; },
		nextGaussian() { return new Double(Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random())); },
	},
	Thrown: {
		getMessage(e) { return e.text; },
		getLocalizedMessage(e) { return e.text; },
		printStackTrace() { return null; },
		getCause() { return null; },
		getStackTrace() { return []; },
	},
	Closure: {
		call(f) { return f.apply(null, Array.prototype.slice.call(arguments, 1)); },
		doCall(f) { return f.apply(null, Array.prototype.slice.call(arguments, 1)); },
	},
	Digest: {
		update(d, x) { d.b = d.b.concat(bytesOf(x)); return null; },
		digest(d, x) { if (x !== undefined) d.b = d.b.concat(bytesOf(x)); const out = hash(d.n, d.b); d.b = []; return new Bytes(out); },
		reset(d) { d.b = []; return null; },
	},
	Mac: {
		init(c, k) { c.key = k; return null; },
		update(c, x) { c.b = c.b.concat(bytesOf(x)); return null; },
		doFinal(c, x) { if (x !== undefined) c.b = c.b.concat(bytesOf(x)); const h = $host.hmac(c.n, hex(c.key.b), hex(c.b)); if (h === null) throw fails("java.security.NoSuchAlgorithmException", "Algorithm " + c.n + " not available"); c.b = []; return new Bytes(unhex(h)); },
	},
	Reader: {
		readLine(r) { return r.at < r.lines.length ? r.lines[r.at++] : null; },
		close() { return null; },
		ready(r) { return r.at < r.lines.length; },
		eachLine(r, f) { r.lines.forEach(function (l) { f(l); }); return null; },
		readLines(r) { return r.lines.slice(r.at); },
		getText(r) { return r.lines.join("\n"); },
	},
	File: {
		getText(f) { return $host.file(f.p); },
		readLines(f) { return new Reader($host.file(f.p)).lines; },
		eachLine(f, g) { new Reader($host.file(f.p)).lines.forEach(function (l) { g(l); }); return null; },
		append() { return null; },
		write() { return null; },
		setText() { return null; },
		mkdirs() { return true; },
		createNewFile() { return true; },
		delete() { return true; },
		getName(f) { return f.p.replace(/^.*[\\/]/, ""); },
		getPath(f) { return f.p; },
		getAbsolutePath(f) { return f.p; },
		exists(f) { return $host.isFile(f.p); },
	},
	URL: {
		getHost(u) { return u.u.hostname; },
		getPath(u) { return u.u.pathname; },
		getQuery(u) { return u.u.search === "" ? null : u.u.search.slice(1); },
		getProtocol(u) { return u.u.protocol.slice(0, -1); },
		getPort(u) { return u.u.port === "" ? -1 : Number(u.u.port); },
		toExternalForm(u) { return u.u.href; },
	},
};
function keysOf(o) { const s = new JSet(); o.entries().forEach(function (e) { s.m.set(e[0], true); }); if (o.sorted) s.m.sorted = true; return s; }
function shuffle(l) { for (let i = l.length - 1; i > 0; i--) { const j = Math.floor(random() * (i + 1)); [l[i], l[j]] = [l[j], l[i]]; } return l; }
function dated(p, ms) { const out = $host.date(str(p), ms); if (out === null) throw fails("whittle", "the date format " + p); return out; }
function rounded(n, d) { if (whole(n)) return n; if (d === undefined) { const f = real(n); return BigInt(Math.floor(f + 0.5)); } if (n instanceof Decimal) return m.Number.setScale(n, d); const k = Math.pow(10, Number(d)); return new Double(Math.floor(n.v * k + 0.5) / k); }
function pick(a, c, greater) { const x = compare(a, c), r = greater ? (x >= 0 ? a : c) : (x <= 0 ? a : c); return a instanceof Double || c instanceof Double ? new Double(real(r)) : typeof a === "bigint" || typeof c === "bigint" ? BigInt(r) : r; }
function entries(o) { const out = new JMap(); o.forEach(function (e) { out.set(e[0], e[1]); }); return out; }
function whatever() { return null; }

// The classes: what is called on their names, and how they are made.
const c = {
	Integer: { $static: true, $constants: { MAX_VALUE: 2147483647, MIN_VALUE: -2147483648 },
		parseInt(t, radix) { return int(t, radix); },
		valueOf(t) { return typeof t === "string" ? int(t) : put("int", t, false); },
		toString(n, radix) { return radix ? n.toString(Number(radix)) : str(n); },
		toHexString(n) { return (n >>> 0).toString(16); },
		toBinaryString(n) { return (n >>> 0).toString(2); },
		max(a, c) { return pick(a, c, true); },
		min(a, c) { return pick(a, c, false); },
		sum(a, c) { return add(a, c); },
		compare(a, c) { return compare(a, c); },
	},
	Long: { $static: true, $constants: { MAX_VALUE: 9223372036854775807n, MIN_VALUE: least },
		parseLong(t, radix) { return longOf(t, radix); },
		valueOf(t) { return typeof t === "string" ? longOf(t) : BigInt(t); },
		toString(n) { return str(n); },
		toHexString(n) { return BigInt.asUintN(64, BigInt(n)).toString(16); },
	},
	Double: { $static: true, $constants: {},
		parseDouble(t) { return doubleOf(t); },
		valueOf(t) { return typeof t === "string" ? doubleOf(t) : new Double(real(t)); },
		toString(n) { return str(put("double", n, false)); },
		compare(a, c) { return compare(a, c); },
	},
	Boolean: { $static: true, $constants: { TRUE: true, FALSE: false },
		parseBoolean(t) { return typeof t === "string" && t.toLowerCase() === "true"; },
		valueOf(t) { return typeof t === "boolean" ? t : typeof t === "string" && t.toLowerCase() === "true"; },
		toString(v) { return str(v); },
	},
	Character: { $static: true, $constants: {},
		isDigit(x) { return /\d/.test(str(x)); },
		isLetter(x) { return /\p{L}/u.test(str(x)); },
		isLetterOrDigit(x) { return /[\p{L}\d]/u.test(str(x)); },
		isUpperCase(x) { return /\p{Lu}/u.test(str(x)); },
		isWhitespace(x) { return /\s/.test(str(x)); },
		toUpperCase(x) { return new Char(str(x).toUpperCase()); },
		toLowerCase(x) { return new Char(str(x).toLowerCase()); },
		toString(x) { return str(x); },
		valueOf(x) { return x; },
		getNumericValue(x) { const n = parseInt(str(x), 36); return n !== n ? -1 : n; },
	},
	String: { $static: true, $constants: {},
		valueOf(v) { return v instanceof Bytes ? str(v) : Array.isArray(v) ? v.map(str).join("") : str(v); },
		format(p) { const a = Array.prototype.slice.call(arguments, 1); return formatted(str(p), a.length === 1 && Array.isArray(a[0]) && !/^[^%]*%s[^%]*$/.test(p) ? a[0] : a); },
		join(by) { const l = Array.prototype.slice.call(arguments, 1); return (l.length === 1 && typeof l[0] !== "string" ? each(l[0]) : l).map(str).join(str(by)); },
		copyValueOf(v) { return v.map(str).join(""); },
	},
	Math: { $static: true, $constants: { PI: new Double(Math.PI), E: new Double(Math.E) },
		random() { return new Double(random()); },
		abs(n) { return compare(n, 0) < 0 ? neg(n) : n; },
		max(a, c) { return pick(a, c, true); },
		min(a, c) { return pick(a, c, false); },
		floor(n) { return new Double(Math.floor(real(n))); },
		ceil(n) { return new Double(Math.ceil(real(n))); },
		round(n) { return whole(n) ? toLong(n) : BigInt(Math.floor(real(n) + 0.5)); },
		rint(n) { const f = real(n), r = Math.round(f); return new Double(Math.abs(f % 1) === 0.5 && r % 2 !== 0 ? r - 1 : r); },
		pow(a, c) { return new Double(Math.pow(real(a), real(c))); },
		sqrt(n) { return new Double(Math.sqrt(real(n))); },
		floorMod(a, c) { return m.Number.mod(a, c); },
		floorDiv(a, c) { return Math.floor(Number(a) / Number(c)); },
		log(n) { return new Double(Math.log(real(n))); },
		exp(n) { return new Double(Math.exp(real(n))); },
	},
	System: { $static: true, $constants: { out: new Calls("java.io.PrintStream", { println: function (x) { $host.log(str(x === undefined ? "" : x)); }, print: function (x) { $host.log(str(x)); }, printf: function (p) { $host.log(formatted(p, Array.prototype.slice.call(arguments, 1))); } }), err: new Calls("java.io.PrintStream", { println: function (x) { $host.log(str(x)); } }) },
		currentTimeMillis() { return BigInt($host.now()); },
		nanoTime() { return BigInt($host.now()) * 1000000n; },
		getenv(n) { return $host.env(n); },
		getProperty(n, other) { return n === "line.separator" ? "\n" : n === "user.dir" ? "." : other === undefined ? null : other; },
		lineSeparator() { return "\n"; },
		identityHashCode() { throw fails("whittle", "identityHashCode"); },
	},
	Thread: { $static: true, $constants: {},
		sleep(ms) { $host.sleep(Number(ms)); return null; },
		currentThread() { return new Calls("java.lang.Thread", { getName: function () { return $host.threadName(); }, getId: function () { return 1n; }, sleep: c.Thread.sleep }); },
	},
	TimeUnit: { $static: true, $constants: { SECONDS: new Calls("TimeUnit", { sleep: function (n) { $host.sleep(Number(n) * 1000); } }), MILLISECONDS: new Calls("TimeUnit", { sleep: function (n) { $host.sleep(Number(n)); } }), MINUTES: new Calls("TimeUnit", { sleep: function (n) { $host.sleep(Number(n) * 60000); } }) },
	},
	UUID: { $static: true, $constants: {},
		randomUUID() { return new JUUID($host.uuid()); },
		fromString(t) { return new JUUID(t); },
		nameUUIDFromBytes() { throw fails("whittle", "nameUUIDFromBytes"); },
	},
	ThreadLocalRandom: { $static: true, $constants: {},
		current() { return new JRandom(); },
	},
	Objects: { $static: true, $constants: {},
		equals(a, c) { return a === null ? c === null : equal(a, c); },
		isNull(a) { return a === null; },
		nonNull(a) { return a !== null; },
		requireNonNull(a) { if (a === null) throw fails("java.lang.NullPointerException"); return a; },
	},
	Arrays: { $static: true, $constants: {},
		asList() { const l = Array.prototype.slice.call(arguments); return l.length === 1 && Array.isArray(l[0]) ? l[0] : l; },
		toString(l) { return l === null ? "null" : l instanceof Bytes ? str(l.b) : str(l); },
		sort(l) { l.sort(compare); return null; },
		fill(l, v) { l.fill(v); return null; },
		copyOf(l, n) { const out = l.slice(0, n); while (out.length < n) out.push(null); return out; },
		copyOfRange(l, a, c) { return l instanceof Bytes ? new Bytes(l.b.slice(a, c)) : l.slice(a, c); },
		equals(a, c) { return equal(a, c); },
	},
	Collections: { $static: true, $constants: {},
		shuffle(l) { shuffle(l); return null; },
		sort(l, f) { sortBy(l, f); return null; },
		reverse(l) { l.reverse(); return null; },
		max(l) { return m.List.max(l); },
		min(l) { return m.List.min(l); },
		emptyList() { return []; },
		emptyMap() { return new JMap(); },
		singletonList(x) { return [x]; },
		unmodifiableList(l) { return l; },
	},
	Base64: { $static: true, $constants: {},
		getEncoder() { return encoder(false, true); },
		getUrlEncoder() { return encoder(true, true); },
		getMimeEncoder() { return encoder(false, true); },
		getDecoder() { return new Calls("Decoder", { decode: function (x) { return new Bytes(unbase64(x instanceof Bytes ? textOf(x.b) : x)); } }); },
		getUrlDecoder() { return c.Base64.getDecoder(); },
		getMimeDecoder() { return c.Base64.getDecoder(); },
		encodeBase64(x) { return new Bytes(utf8(base64(bytesOf(x)))); },
		encodeBase64String(x) { return base64(bytesOf(x)); },
		encodeBase64URLSafeString(x) { return base64(bytesOf(x), true, false); },
		decodeBase64(x) { return new Bytes(unbase64(x instanceof Bytes ? textOf(x.b) : x)); },
	},
	DatatypeConverter: { $static: true, $constants: {},
		printBase64Binary(x) { return base64(bytesOf(x)); },
		printHexBinary(x) { return hex(bytesOf(x)).toUpperCase(); },
	},
	Hex: { $static: true, $constants: {},
		encodeHexString(x) { return hex(bytesOf(x)); },
		encodeHex(x) { return Array.from(hex(bytesOf(x))).map(function (y) { return new Char(y); }); },
	},
	DigestUtils: { $static: true, $constants: {},
		md5Hex(x) { return hex(hash("MD5", bytesOf(x))); },
		md5(x) { return new Bytes(hash("MD5", bytesOf(x))); },
		sha1Hex(x) { return hex(hash("SHA-1", bytesOf(x))); },
		shaHex(x) { return hex(hash("SHA-1", bytesOf(x))); },
		sha256Hex(x) { return hex(hash("SHA-256", bytesOf(x))); },
		sha256(x) { return new Bytes(hash("SHA-256", bytesOf(x))); },
		sha384Hex(x) { return hex(hash("SHA-384", bytesOf(x))); },
		sha512Hex(x) { return hex(hash("SHA-512", bytesOf(x))); },
	},
	MessageDigest: { $static: true, $constants: {},
		getInstance(n) { hash(n, []); return new Digest(n); },
	},
	Mac: { $static: true, $constants: {},
		getInstance(n) { return new Mac(n); },
	},
	URLEncoder: { $static: true, $constants: {},
		encode(t) { return formEscape(str(t)); },
	},
	URLDecoder: { $static: true, $constants: {},
		decode(t) { try { return decodeURIComponent(str(t).replace(/\+/g, " ")); } catch (e) { throw fails("java.lang.IllegalArgumentException", "URLDecoder: Illegal hex characters in escape (%) pattern"); } },
	},
	StandardCharsets: { $static: true, $constants: { UTF_8: "UTF-8", ISO_8859_1: "ISO-8859-1", US_ASCII: "US-ASCII" },
	},
	Charset: { $static: true, $constants: {},
		forName(n) { return n; },
		defaultCharset() { return "UTF-8"; },
	},
	Pattern: { $static: true, $constants: { CASE_INSENSITIVE: 2, MULTILINE: 8, DOTALL: 32 },
		compile(p, f) { f = f || 0; return new Pattern(p, (f & 2 ? "i" : "") + (f & 8 ? "m" : "") + (f & 32 ? "s" : "")); },
		matches(p, x) { return m.String.matches(str(x), p); },
		quote(x) { return "\\Q" + x + "\\E"; },
	},
	RoundingMode: { $static: true, $constants: { HALF_UP: "HALF_UP", DOWN: "DOWN" },
	},
	Locale: { $static: true, $constants: { US: "en_US", ENGLISH: "en", UK: "en_GB", ROOT: "", getDefault: "en" },
		getDefault() { return "en"; },
	},
	TimeZone: { $static: true, $constants: {},
		getTimeZone(n) { if (!/^(UTC|GMT|Etc\/UTC|Z)$/.test(n)) throw fails("whittle", "the time zone " + n); return n; },
		getDefault() { return "UTC"; },
	},
	Instant: { $static: true, $constants: {},
		now() { return new JDate(Number($host.now())); },
		ofEpochMilli(n) { return new JDate(Number(n)); },
		ofEpochSecond(n) { return new JDate(Number(n) * 1000); },
	},
	LocalDate: { $static: true, $constants: {},
		now() { const d = new JDate(Number($host.now())); d.plain = "yyyy-MM-dd"; return localDate(d, "yyyy-MM-dd"); },
	},
	LocalDateTime: { $static: true, $constants: {},
		now() { return localDate(new JDate(Number($host.now())), null); },
	},
	DateTimeFormatter: { $static: true, $constants: { ISO_LOCAL_DATE: new Format("yyyy-MM-dd"), ISO_DATE: new Format("yyyy-MM-dd") },
		ofPattern(p) { return new Format(p); },
	},
	Calendar: { $static: true, $constants: { YEAR: 1, MONTH: 2, DATE: 5, DAY_OF_MONTH: 5, DAY_OF_YEAR: 6, HOUR: 10, HOUR_OF_DAY: 11, MINUTE: 12, SECOND: 13, MILLISECOND: 14, WEEK_OF_YEAR: 3, DAY_OF_WEEK: 7 },
		getInstance() { return calendar(Number($host.now())); },
	},
	RandomStringUtils: { $static: true, $constants: {},
		randomAlphabetic(n) { return randomText(n, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"); },
		randomAlphanumeric(n) { return randomText(n, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"); },
		randomNumeric(n) { return randomText(n, "0123456789"); },
		randomAscii(n) { return randomText(n, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789!#%&/()=?*-_.:,;"); },
		random(n, a, d) { return typeof a === "string" ? randomText(n, a) : randomText(n, (a ? "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz" : "") + (d ? "0123456789" : "")); },
	},
	RandomUtils: { $static: true, $constants: {},
		nextInt(a, c) { return nextInt(a === undefined ? 0 : a, c === undefined ? 2147483647 : c); },
		nextLong(a, c) { return m.Random.nextLong(null, a, c); },
	},
	StringUtils: { $static: true, $constants: { EMPTY: "" },
		isEmpty(t) { return t === null || t === ""; },
		isNotEmpty(t) { return t !== null && t !== ""; },
		isBlank(t) { return t === null || t.trim() === ""; },
		isNotBlank(t) { return t !== null && t.trim() !== ""; },
		isNumeric(t) { return t !== null && /^\d+$/.test(t); },
		substringBetween(t, a, c) { if (t === null) return null; const i = t.indexOf(a); if (i < 0) return null; const j = t.indexOf(c === undefined ? a : c, i + a.length); return j < 0 ? null : t.slice(i + a.length, j); },
		substringAfter(t, a) { const i = t.indexOf(a); return i < 0 ? "" : t.slice(i + a.length); },
		substringBefore(t, a) { const i = t.indexOf(a); return i < 0 ? t : t.slice(0, i); },
		substringAfterLast(t, a) { const i = t.lastIndexOf(a); return i < 0 ? "" : t.slice(i + a.length); },
		substringBeforeLast(t, a) { const i = t.lastIndexOf(a); return i < 0 ? t : t.slice(0, i); },
		leftPad(t, n, by) { return t.padStart(Number(n), by === undefined ? " " : str(by)); },
		rightPad(t, n, by) { return t.padEnd(Number(n), by === undefined ? " " : str(by)); },
		countMatches(t, x) { return t.split(x).length - 1; },
		join(l, by) { return each(l).map(str).join(str(by)); },
		capitalize(t) { return m.String.capitalize(t); },
		repeat(t, n) { return t.repeat(Number(n)); },
		equals(a, c) { return a === c; },
		trim(t) { return t === null ? null : m.String.trim(t); },
		replace(t, a, c) { return t === null ? null : t.split(a).join(c); },
		contains(t, x) { return t !== null && t.includes(x); },
		reverse(t) { return m.String.reverse(t); },
	},
	StringEscapeUtils: { $static: true, $constants: {},
		escapeJson(t) { return quoted(t).slice(1, -1).replace(/\//g, "\\/"); },
		unescapeJson(t) { return JSON.parse('"' + t + '"'); },
		escapeHtml4(t) { return t.replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/>/g, "&gt;").replace(/"/g, "&quot;"); },
		unescapeHtml4(t) { return t.replace(/&lt;/g, "<").replace(/&gt;/g, ">").replace(/&quot;/g, '"').replace(/&#39;/g, "'").replace(/&amp;/g, "&"); },
	},
	JsonOutput: { $static: true, $constants: {},
		toJson(v) { return jsonText(v, 0, false); },
		prettyPrint(t) { return jsonText(fromJSON(t), 0, true); },
	},
	Files: { $static: true, $constants: {},
		readAllLines(p) { return new Reader($host.file(str(p))).lines; },
		readAllBytes(p) { return new Bytes(utf8($host.file(str(p)))); },
		exists(p) { return $host.isFile(str(p)); },
	},
	Paths: { $static: true, $constants: {},
		get() { return new JFile(Array.prototype.slice.call(arguments).map(str).join("/")); },
	},
	JMeterUtils: { $static: true, $constants: {},
		getPropDefault(n, other) { const v = $host.property(n); return v === null ? other : typeof other === "number" ? int(v) : typeof other === "boolean" ? v.toLowerCase() === "true" : v; },
		getProperty(n) { return $host.property(n); },
		setProperty(n, v) { $host.setProperty(n, str(v)); return null; },
	},
	FileServer: { $static: true, $constants: {},
		getFileServer() { return new Calls("FileServer", { getBaseDir: function () { return $host.folder(); }, getBaseDirRelative: function () { return new JFile("."); }, getScriptName: function () { return $host.planName(); }, resolveBaseFile: function (n) { return n; } }); },
	},
	JMeterContextService: { $static: true, $constants: {},
		getContext() { return $host.scope.ctx; },
	},
	Random: { $make() { return new JRandom(); } },
	SecureRandom: { $make() { return new JRandom(); } },
	Date: { $make(ms) { return new JDate(ms === undefined ? Number($host.now()) : ms instanceof JDate ? ms.ms : Number(ms)); } },
	SimpleDateFormat: { $make(p) { dated(p, 0); return new Format(p); } },
	StringBuilder: { $make(x) { return new Builder(x === undefined || typeof x === "number" ? "" : str(x)); } },
	StringBuffer: { $make(x) { return new Builder(x === undefined || typeof x === "number" ? "" : str(x)); } },
	ArrayList: { $make(x) { return x === undefined || typeof x === "number" ? [] : each(x).slice(); } },
	LinkedList: { $make(x) { return x === undefined ? [] : each(x).slice(); } },
	Vector: { $make(x) { return x === undefined || typeof x === "number" ? [] : each(x).slice(); } },
	HashMap: { $make(x) { return copied(x, "hash"); } },
	LinkedHashMap: { $make(x) { return copied(x); } },
	ConcurrentHashMap: { $make(x) { return copied(x, "hash"); } },
	TreeMap: { $make(x) { return copied(x, "sorted"); } },
	HashSet: { $make(x) { return setOf(x, "hash"); } },
	LinkedHashSet: { $make(x) { return setOf(x); } },
	TreeSet: { $make(x) { return setOf(x, "sorted"); } },
	JsonSlurper: { $make() { return new Calls("groovy.json.JsonSlurper", { parseText: function (x) { return fromJSON(x); }, parse: function (x) { return fromJSON(x instanceof Bytes ? textOf(x.b) : x instanceof JFile ? $host.file(x.p) : x instanceof Reader ? x.lines.join("\n") : str(x)); }, setType: function () { return c.JsonSlurper.$make(); } }); } },
	JsonSlurperClassic: { $make() { return c.JsonSlurper.$make(); } },
	JsonBuilder: { $make(v) { return new Calls("groovy.json.JsonBuilder", { toString: function () { return jsonText(v, 0, false); }, toPrettyString: function () { return jsonText(v, 0, true); } }); } },
	SecretKeySpec: { $make(b, n) { return new Key(bytesOf(b), n); } },
	BigDecimal: { $make(x) { return typeof x === "string" ? decimal(x) : toDecimal(x); } },
	Exception: { $make(t) { return new Thrown("java.lang.Exception", t); } },
	RuntimeException: { $make(t) { return new Thrown("java.lang.RuntimeException", t); } },
	IllegalStateException: { $make(t) { return new Thrown("java.lang.IllegalStateException", t); } },
	IllegalArgumentException: { $make(t) { return new Thrown("java.lang.IllegalArgumentException", t); } },
	Error: { $make(t) { return new Thrown("java.lang.Error", t); } },
	File: { $make(a, p) { return new JFile(p === undefined ? str(a) : str(a) + "/" + p); } },
	FileReader: { $make(p) { return new Reader($host.file(p instanceof JFile ? p.p : p)); } },
	BufferedReader: { $make(r) { return r; } },
	FileWriter: { $make() { return writer(); } },
	BufferedWriter: { $make() { return writer(); } },
	PrintWriter: { $make() { return writer(); } },
	FileOutputStream: { $make() { return writer(); } },
	OutputStreamWriter: { $make() { return writer(); } },
	PrintStream: { $make() { return writer(); } },
	URL: { $make(t) { try { return new JURL(t); } catch (e) { throw fails("java.net.MalformedURLException", t); } } },
	Object: { $make() { return new Thrown("java.lang.Object"); } },
};
// writer is where a script writes to a file: nothing is written.
function writer() { const w = {}; for (const k of ["write", "append", "println", "print", "newLine", "flush", "close"]) w[k] = function () { return k === "append" ? o : null; }; const o = new Calls("java.io.Writer", w); return o; }
function encoder(url, pad) { return new Calls("Encoder", { encodeToString: function (x) { return base64(bytesOf(x), url, pad); }, encode: function (x) { return new Bytes(utf8(base64(bytesOf(x), url, pad))); }, withoutPadding: function () { return encoder(url, false); } }); }
// hashed is HashMap's order: by the bucket of each key's hash.
function copied(x, kind) { const o = new JMap(kind === "sorted"); if (kind === "hash") ordered(o); if (x instanceof JMap) x.entries().forEach(function (e) { o.set(e[0], e[1]); }); return o; }
function ordered(o) {
	const entries = o.entries;
	o.entries = function () {
		const all = Array.from(this.m.values()); let n = 16;
		while (all.length > n * 0.75) n *= 2;
		return all.map(function (e, i) { const h = e[0] === null ? 0 : m.Any.hashCode(e[0] instanceof Char ? e[0].c.charCodeAt(0) : e[0]); return [(h ^ h >>> 16) & n - 1, i, e]; }).sort(function (a, d) { return a[0] - d[0] || a[1] - d[1]; }).map(function (r) { return r[2]; });
	};
}
function setOf(x, kind) { const s = new JSet(kind === "sorted"); if (kind === "hash") ordered(s.m); if (x !== undefined && typeof x !== "number") each(x).forEach(function (y) { s.m.set(y, true); }); return s; }
function localDate(d, p) {
	return new Calls("java.time.LocalDateTime", { format: function (f) { return dated(f.p, d.ms); }, toString: function () { return p ? dated(p, d.ms) : dated("yyyy-MM-dd'T'HH:mm:ss.SSS", d.ms); },
		getYear: function () { return new Date(d.ms).getUTCFullYear(); }, getMonthValue: function () { return new Date(d.ms).getUTCMonth() + 1; }, getDayOfMonth: function () { return new Date(d.ms).getUTCDate(); },
		plusDays: function (n) { return localDate(new JDate(d.ms + Number(n) * 86400000), p); }, minusDays: function (n) { return localDate(new JDate(d.ms - Number(n) * 86400000), p); }, plusHours: function (n) { return localDate(new JDate(d.ms + Number(n) * 3600000), p); }, minusHours: function (n) { return localDate(new JDate(d.ms - Number(n) * 3600000), p); },
		plusMinutes: function (n) { return localDate(new JDate(d.ms + Number(n) * 60000), p); }, minusMinutes: function (n) { return localDate(new JDate(d.ms - Number(n) * 60000), p); }, plusWeeks: function (n) { return localDate(new JDate(d.ms + Number(n) * 604800000), p); }, plusMonths: function (n) { const x = new Date(d.ms), day = x.getUTCDate(); x.setUTCDate(1); x.setUTCMonth(x.getUTCMonth() + Number(n)); x.setUTCDate(Math.min(day, new Date(Date.UTC(x.getUTCFullYear(), x.getUTCMonth() + 1, 0)).getUTCDate())); return localDate(new JDate(x.getTime()), p); } });
}
function calendar(ms) {
	const by = { 5: 86400000, 6: 86400000, 7: 86400000, 10: 3600000, 11: 3600000, 12: 60000, 13: 1000, 14: 1, 3: 604800000 };
	return new Calls("java.util.GregorianCalendar", { getTime: function () { return new JDate(ms); }, setTime: function (d) { ms = d.ms; }, getTimeInMillis: function () { return BigInt(ms); }, setTimeInMillis: function (n) { ms = Number(n); },
		add: function (f, n) { if (by[f]) { ms += by[f] * Number(n); return; } const x = new Date(ms), day = x.getUTCDate(); x.setUTCDate(1); if (f === 2) x.setUTCMonth(x.getUTCMonth() + Number(n)); else if (f === 1) x.setUTCFullYear(x.getUTCFullYear() + Number(n)); else throw fails("whittle", "a field of a calendar"); x.setUTCDate(Math.min(day, new Date(Date.UTC(x.getUTCFullYear(), x.getUTCMonth() + 1, 0)).getUTCDate())); ms = x.getTime(); },
		get: function (f) { const x = new Date(ms); switch (f) { case 1: return x.getUTCFullYear(); case 2: return x.getUTCMonth(); case 5: return x.getUTCDate(); case 7: return x.getUTCDay() + 1; case 10: return x.getUTCHours() % 12; case 11: return x.getUTCHours(); case 12: return x.getUTCMinutes(); case 13: return x.getUTCSeconds(); case 14: return x.getUTCMilliseconds(); } throw fails("whittle", "a field of a calendar"); } });
}
function make(name) {
	const args = Array.prototype.slice.call(arguments, 1);
	switch (name) {
	case "String": if (args.length === 0) return ""; if (args[0] instanceof Bytes) return textOf(args[0].b, args[1]); if (args[0] === null) throw fails("java.lang.NullPointerException"); return Array.isArray(args[0]) ? args[0].map(str).join("") : str(args[0]);
	case "Integer": return typeof args[0] === "string" ? int(args[0]) : args[0];
	case "Long": return typeof args[0] === "string" ? longOf(args[0]) : BigInt(args[0]);
	case "Double": return typeof args[0] === "string" ? doubleOf(args[0]) : new Double(real(args[0]));
	case "Boolean": return c.Boolean.valueOf(args[0]);
	}
	const of = c[name];
	if (!of.$make) throw fails("whittle", "new " + name);
	return of.$make.apply(null, args);
}
function array(kind, n) { const v = { int: 0, long: 0n, boolean: false, char: new Char("\0"), byte: 0, short: 0 }[kind]; if (Number(n) > 1000000) throw fails("whittle", "an array of more than a million"); if (kind === "byte") return new Bytes(new Array(Number(n)).fill(0)); return new Array(Number(n)).fill(kind === "double" ? new Double(0) : v === undefined ? null : v); }
// texts are what a variable or a property takes: a text, and nothing else.
function texts(put) { return function (k, v) { if (typeof k !== "string" || v !== null && typeof v !== "string") throw fails("groovy.lang.MissingMethodException", "put(" + kindOf(k) + ", " + kindOf(v) + "): a variable is a text"); return put(k, v); }; }
// lent is an object of the run, whose methods are Go's.
function lent(name, of) {
	const o = Object.assign({}, of);
	for (const k of Object.keys(o)) if (o[k] !== null && typeof o[k] === "object" && !Array.isArray(o[k])) { const inner = o[k]; o[k] = function () { return lent(k, inner); }; }
	if (name === "vars" || name === "getVariables") { o.put = texts(o.put); const put = o.putObject; o.putObject = function (k, v) { return put(k, v === null ? null : str(v), v); }; o.entrySet = function () { throw fails("whittle", "the list of all variables"); }; }
	if (name === "props" || name === "getProperties") { o.setProperty = texts(o.put); const put = o.put; o.put = function (k, v) { return put(k, str(v)); }; o.getOrDefault = function (k, d) { const v = o.get(k); return v === null ? d : v; }; o.containsKey = function (k) { return o.get(k) !== null; }; o.getProperty = function (k, d) { const v = o.get(k); return v === null && d !== undefined ? d : v; }; }
	if (name === "log") for (const k of ["info", "warn", "error", "debug", "trace"]) { o[k] = function (x) { const more = Array.prototype.slice.call(arguments, 1); let i = 0; $host.log(str(x).replace(/\{\}/g, function (all) { return i < more.length ? str(more[i++]) : all; })); return null; }; o["is" + k[0].toUpperCase() + k.slice(1) + "Enabled"] = function () { return true; }; }
	for (const k of ["getResponseData"]) if (o[k]) { const f = o[k]; o[k] = function () { return new Bytes(utf8(f())); }; }
	for (const k of ["getTime", "getLatency", "getConnectTime", "getStartTime", "getEndTime", "getTimeStamp", "getBytesAsLong", "getBodySizeAsLong"]) if (o[k]) { const f = o[k]; o[k] = function () { return BigInt(f()); }; }
	if (o.getURL) { const f = o.getURL; o.getURL = function () { const u = f(); return u === null ? null : new JURL(u); }; }
	return new Calls(name, o);
}
const $j = globalThis.$j = {
	m: m, c: c, Calls: Calls, Bytes: Bytes, str: str, t: t, b: b, add: add, addJ: addJ, sub: sub, mul: mul, div: div, divJ: divJ, mod: mod, pow: pow, neg: neg, not: not, and: and, orBits: orBits, xor: xor, shl: shl, shr: shr, ushr: ushr,
	eq: eq, eqJ: eqJ, ne: function (a, x) { return !eq(a, x); }, neJ: function (a, x) { return !eqJ(a, x); }, lt: function (a, x) { return compare(a, x) < 0; }, gt: function (a, x) { return compare(a, x) > 0; }, le: function (a, x) { return compare(a, x) <= 0; }, ge: function (a, x) { return compare(a, x) >= 0; },
	cmp: function (a, x) { return Math.sign(compare(a, x)); }, is: function (a, x) { return a === x; }, isNot: function (a, x) { return a !== x; },
	// A text that a call has made is never the one that a script has written.
	same: function (a, x, equals) { if (typeof a === "string" && typeof x === "string") { if (a !== x) return !equals; throw fails("whittle", "== of two equal texts, which in Java depends on whether they are one object: equals says what is meant"); } return eqJ(a, x) === equals; },
	find: function (a, p) { return new Matcher(p instanceof Pattern ? p : new Pattern(str(p)), str(a)); }, matches: function (a, p) { return a !== null && m.String.matches(str(a), p instanceof Pattern ? p.p : p); },
	within: function (a, l) { return l instanceof JMap || l instanceof JSet ? (l instanceof JMap ? l : l.m).has(a) : each(l).some(function (y) { return eq(a, y); }); }, range: range, rangeTo: rangeTo,
	or: function (a, f) { return t(a) ? a : f(); }, put: put, cast: cast, as: as, isA: isA, each: each, at: at, setAt: setAt, item: item, get: get, set: set, call: call, has: has,
	getSafe: function (v, n) { return v === null || v === undefined ? null : get(v, n); }, callSafe: function (v, n, a) { return v === null || v === undefined ? null : call(v, n, a); },
	getAll: function (v, n) { return each(v).map(function (x) { return x === null ? null : get(x, n); }); }, callAll: function (v, n, a) { return each(v).map(function (x) { return x === null ? null : call(x, n, a); }); },
	run: function (f, args) { if (typeof f !== "function") throw fails("groovy.lang.MissingMethodException", "call"); return nothing(f.apply(null, args)); },
	first: function (a) { return a; }, weave: function () { return Array.prototype.map.call(arguments, str).join(""); },
	char: function (t) { return new Char(t); }, double: function (n) { return new Double(n); }, decimal: decimal, map: function () { const o = new JMap(); for (let i = 0; i < arguments.length; i += 2) o.set(arguments[i], arguments[i + 1]); return o; },
	make: make, array: array, closure: function (f) { const run = function () { const a = arguments; if (f.length > 1 && a.length === 1 && Array.isArray(a[0])) return nothing(f.apply(null, a[0])); if (f.length === 1 && a.length === 0) return nothing(f(null)); return nothing(f.apply(null, a)); }; Object.defineProperty(run, "length", { value: f.length }); return run; },
	known: function (s, name) { if (!(name in s)) throw fails("groovy.lang.MissingPropertyException", "No such property: " + name + " for class: Script1"); return s[name]; },
	raise: function (v) { if (v instanceof Thrown) throw Object.assign(fails(v.kind, v.text), { thrown: v }); throw fails("java.lang.Throwable"); },
	caught: function (e) { if (e && e.java === "whittle") throw e; if (e && e.thrown) return e.thrown; if (e && e.java) return new Thrown(e.java, e.text); throw e; },
	holds: function (v, what) { if (!v) throw fails("java.lang.AssertionError", str(what)); },
	which: function (v, cases, groovy) { for (let i = 0; i < cases.length; i++) { const x = cases[i](); if (groovy ? (Array.isArray(x) ? x.some(function (y) { return eq(v, y); }) : x instanceof Pattern ? m.String.matches(str(v), x.p) : eq(v, x)) : equal(v, x) || isNumber(v) && isNumber(x) && compare(v, x) === 0 || v instanceof Char && isNumber(x) && compare(v, x) === 0) return i; } return -1; },
	println: function (x) { $host.log(str(x === undefined ? "" : x)); return null; }, print: function (x) { $host.log(str(x)); return null; }, printf: function (p) { $host.log(formatted(str(p), Array.prototype.slice.call(arguments, 1))); return null; },
	sleep: function (ms) { $host.sleep(Number(ms)); return null; },
	// begin makes the variables of a run out of what the run lends, and keeps those of an earlier one.
	begin: function (given, kept, groovy) {
		const s = kept || {};
		groovyTexts = groovy;
		for (const name of Object.keys(given)) { const v = given[name]; s[name] = v !== null && typeof v === "object" && !Array.isArray(v) ? lent(name, v) : v; }
		$host.scope = s;
		return s;
	},
	result: function (v) { if (v === null || v === undefined) return null; groovyTexts = false; return str(v); },
	getJ: function (v, name) {
		if (v !== null && v !== undefined && (v.$static || (Array.isArray(v) || v instanceof Bytes) && name === "length" || v instanceof Calls)) return get(v, name);
		throw fails("bsh.EvalError", "No such field: " + name);
	},
};
})();
