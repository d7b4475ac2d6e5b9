// What rewritten scripts call. It is defined once in an engine.
(function () {
"use strict";
if (globalThis.$j) return;
const fail = what => { throw new Error(what); };
const some = s => s === null || s === undefined ? fail("null, where a text is wanted") : s;
const trim = s => some(s).replace(/^[\0-\x20]+|[\0-\x20]+$/g, "");
const int = s => {
	const n = /^[-+]?\d{1,20}$/.test(s) ? Number(s) : NaN;
	return n >= -2147483648 && n <= 2147483647 ? n | 0 : fail("For input string: " + s);
};
const long = s => {
	if (s === null || !/^[-+]?\d{1,30}$/.test(s)) fail("For input string: " + s);
	const n = BigInt(s.replace(/^\+/, ""));
	return n === BigInt.asIntN(64, n) ? n : fail("For input string: " + s);
};
// fraction writes a double as Java does.
const fraction = f => {
	if (!isFinite(f)) return String(f);
	const size = Math.abs(f);
	if (size === 0) return Object.is(f, -0) ? "-0.0" : "0.0";
	if (size >= 1e-3 && size < 1e7) return Number.isInteger(f) ? f + ".0" : String(f);
	const [digits, power] = f.toExponential().split("e");
	return (digits.includes(".") ? digits : digits + ".0") + "E" + power.replace("+", "");
};
const isNumber = v => typeof v === "object" && v !== null && "#number" in v;
const whole = v => isNumber(v) && /^-?\d+$/.test(v["#number"]) ? int(v["#number"]) : fail("whittle takes no such value of JSON for a whole number");
const shown = v => {
	if (v === null || v === undefined) return "null";
	if (isNumber(v)) return /^-?(0|[1-9]\d*)$/.test(v["#number"]) && v["#number"] !== "-0" ? v["#number"] : fail("whittle does not write a number with a fraction out of JSON: take it by a JSON extractor");
	if (typeof v === "object") return fail("whittle writes no list and no map of JSON as a text: take it by a JSON extractor");
	return String(v);
};
const below = (from, to) => to > from ? from + Math.floor($host.random() * (to - from)) | 0 : fail("bound must be positive");
globalThis.$j = {
	some, trim, int, long, fraction, whole, shown, below,
	alphabet: "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz", digits: "0123456789",
	caught: e => { if (/whittle/.test(e.message)) throw e; },
	print: s => $host.print(s),
	set: (v, name) => v === undefined ? fail("No such property: " + name) : v,
	isInt: s => /^[-+]?\d+$/.test(s) && Math.abs(Number(s)) <= 2147483647,
	double: s => /^[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?$/.test(trim(s)) ? Number(trim(s)) : fail("For input string: " + s),
	yes: s => s !== null && s.toLowerCase() === "true",
	part: (s, from, to) => {
		if (to === undefined) to = some(s).length;
		return from < 0 || to > s.length || from > to ? fail("String index out of range") : s.substring(from, to);
	},
	same: (a, b) => some(a) === b,
	alike: (a, b) => b !== null && some(a).length === b.length && [...a].every((c, i) => c === [...b][i] || c.toUpperCase() === [...b][i].toUpperCase() || c.toLowerCase() === [...b][i].toLowerCase()),
	replace: (s, from, to) => some(from) === "" ? fail("whittle replaces no empty text") : some(s).split(from).join(some(to)),
	replaceBy: (s, by, to) => /[\\$]/.test(some(to)) ? fail("whittle replaces by no text with $ or \\") : some(s).replace(by, () => to),
	split: (s, by) => {
		const out = some(s) === "" ? [""] : s.split(by);
		while (out.length > 1 && out[out.length - 1] === "") out.pop();
		return s !== "" && out.length === 1 && out[0] === "" ? [] : out;
	},
	encoded: (s, set) => /^utf-?8$/i.test(some(set)) ? encodeURIComponent(some(s)).replace(/[!'()~]/g, c => "%" + c.charCodeAt(0).toString(16).toUpperCase()).replace(/%20/g, "+") : fail("whittle encodes in UTF-8 alone"),
	append: (b, s) => { b.s += s; return b; },
	larger: (a, b) => a > b ? a : b, smaller: (a, b) => a < b ? a : b,
	narrow: n => Number(BigInt.asIntN(32, n)),
	toInt: f => f !== f ? 0 : Math.trunc(Math.max(-2147483648, Math.min(2147483647, f))) | 0,
	toLong: f => f !== f ? 0n : f >= 9223372036854775807 ? 9223372036854775807n : f <= -9223372036854775808 ? -9223372036854775808n : BigInt(Math.trunc(f)),
	quotient: (a, b) => b === 0 ? fail("Division by zero") : Math.trunc(a / b),
	remainder: (a, b) => b === 0 ? fail("Division by zero") : a % b | 0,
	letters: (n, from) => {
		let out = "";
		if (n > 65536) fail("whittle draws at most 65536 letters");
		if (n < 0 || some(from) === "") fail("Requested random string length " + n);
		for (let i = 0; i < n; i++) out += from[below(0, from.length)];
		return out;
	},
	each: list => some(list).slice(), filled: list => list !== null && list.length > 0,
	item: (list, i) => i < 0 || i >= some(list).length ? fail("whittle reads a list within its bounds alone: index " + i) : list[i],
	json: s => {
		JSON.parse(some(s)); // it is JSON
		return JSON.parse(s.replace(/"(?:[^"\\]|\\.)*"|-?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?/g, m => m[0] === '"' ? m : '{"#number":"' + m + '"}'));
	},
	member: (v, name) => {
		if (v === null || v === undefined) fail("Cannot get property '" + name + "' on null object");
		if (typeof v !== "object" || Array.isArray(v) || isNumber(v)) fail("whittle reads no " + name + " of a list, a text or a number");
		return Object.prototype.hasOwnProperty.call(v, name) ? v[name] : null;
	},
	entry: (v, i) => {
		if (!Array.isArray(v)) fail("whittle reads an index of a list of JSON alone");
		if (i < 0) i += v.length;
		return i < 0 ? fail("Index out of bounds") : i < v.length ? v[i] : null;
	},
	size: v => Array.isArray(v) || typeof v === "string" ? v.length : typeof some(v) === "object" && !isNumber(v) ? Object.keys(v).length : fail("No signature of method: size"),
	truth: v => v === null || v === undefined ? false : isNumber(v) ? Number(v["#number"]) !== 0 : Array.isArray(v) ? v.length > 0 : typeof v === "object" ? Object.keys(v).length > 0 : !!v,
	text: v => v === null || typeof v === "string" ? v : fail("a variable is a text: add toString()"),
	asInt: v => typeof v === "string" ? int(trim(v)) : whole(v),
	equal: (a, b) => {
		const plain = v => isNumber(v) ? whole(v) : typeof v === "object" && v !== null ? fail("whittle compares no list and no map of JSON") : v;
		[a, b] = [plain(a), plain(b)];
		return a === null || b === null || typeof a === typeof b ? a === b : fail("whittle does not compare a text with a number");
	},
};

// JEXL's values are null, texts, booleans, BigInts and numbers with a fraction.
const isText = v => typeof v === "string", isWhole = v => typeof v === "bigint", isDouble = v => typeof v === "number";
const textOf = v => v === null ? "" : isDouble(v) ? fraction(v) : Array.isArray(v) ? fail("no text") : String(v);
const truth = v => v === null || Array.isArray(v) ? fail("no condition") : isText(v) ? v !== "" && v !== "false" : v !== 0n && v !== 0 && v === v && v !== false;
const fractional = v => isDouble(v) || isText(v) && /^[+-]?\d*(?:\.\d*(?:[eE][+-]?\d+)?|[eE][+-]?\d+)$/.test(v);
const doubleOf = v => {
	if (isText(v)) return v === "" ? 0 : /^\s*[+-]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?\s*$/.test(v) ? Number(v) : fail("no number");
	return Array.isArray(v) ? fail("no number") : Number(v);
};
const wholeOf = v => {
	if (isWhole(v)) return v;
	if (typeof v === "boolean") return v ? 1n : 0n;
	if (isDouble(v)) return isFinite(v) ? BigInt(Math.trunc(v)) : fail("no whole number");
	if (v === "") return 0n;
	return isText(v) && v.length < 1200 && /^[+-]?\d+$/.test(v) ? BigInt(v.replace(/^\+/, "")) : fail("no number");
};
const compare = (a, b) => {
	if (isDouble(a) || isDouble(b)) [a, b] = [doubleOf(a), doubleOf(b)];
	else if (isWhole(a) || isWhole(b)) [a, b] = [wholeOf(a), wholeOf(b)];
	else if (isText(a) || isText(b)) [a, b] = [textOf(a), textOf(b)];
	else fail("values that cannot be compared");
	return a < b ? -1 : a > b ? 1 : 0;
};
const small = n => n > -(2n ** 4096n) && n < 2n ** 4096n ? n : fail("a number that is too great");
const onDoubles = { "+": (x, y) => x + y, "-": (x, y) => x - y, "*": (x, y) => x * y, "/": (x, y) => x / y, "%": (x, y) => x % y };
const onWholes = { "+": (x, y) => x + y, "-": (x, y) => x - y, "*": (x, y) => x * y, "/": (x, y) => x / y, "%": (x, y) => x % y, "&": (x, y) => x & y, "|": (x, y) => x | y, "^": (x, y) => x ^ y };
globalThis.$j.jexl = {
	truth, text: v => v === null ? null : textOf(v), unknown: name => fail("no variable " + name),
	or: (a, b, truly) => {
		let v = null;
		try { v = a(); } catch (e) { v = null; }
		return v !== null && (!truly || truth(v)) ? v : b();
	},
	equal: (a, b) => a === null || b === null ? a === b : typeof a === "boolean" || typeof b === "boolean" ? truth(a) === truth(b) : compare(a, b) === 0,
	ordered: (sign, a, b) => {
		if (a === null || b === null) return a === b && sign.length === 2;
		const c = compare(a, b);
		return c === 0 ? sign.length === 2 : c < 0 === (sign[0] === "<");
	},
	compute: (sign, a, b, old) => {
		if (a === null || b === null) fail("nothing to compute with");
		const texts = isText(a) || isText(b);
		if (sign === "+" && texts && !old) return textOf(a) + textOf(b);
		try {
			const zero = v => (sign === "/" || sign === "%") && v == 0 ? fail("/ by zero") : v;
			if ("&|^".includes(sign)) return onWholes[sign](wholeOf(a), wholeOf(b));
			if (fractional(a) || fractional(b)) return onDoubles[sign](doubleOf(a), zero(doubleOf(b)));
			return small(onWholes[sign](small(wholeOf(a)), zero(small(wholeOf(b)))));
		} catch (e) {
			if (sign === "+" && old && texts) return textOf(a) + textOf(b);
			throw e;
		}
	},
	negative: v => isWhole(v) || isDouble(v) ? -v : typeof v === "boolean" ? !v : fail("nothing to negate"),
	within: (sign, a, b) => {
		if (a === null || b === null) return a === b;
		if (sign === "^") return textOf(a).startsWith(textOf(b));
		if (sign === "$") return textOf(a).endsWith(textOf(b));
		return Array.isArray(b) ? b.includes(a) : $host.matches(textOf(a), textOf(b));
	},
	empty: v => v === null || v === "" || Array.isArray(v) && v.length === 0,
	size: v => v === null ? 0n : isText(v) || Array.isArray(v) ? BigInt(v.length) : fail("no size"),
	call: (name, s, a) => {
		if (name === "equals" && s !== null && !Array.isArray(s)) return typeof s === typeof a && s === a;
		if (name === "toString" && s !== null) return textOf(s);
		if (!isText(s) || a !== undefined && !isText(a)) fail("no method " + name);
		switch (name) {
		case "length": return BigInt(s.length);
		case "isEmpty": return s === "";
		case "trim": return trim(s);
		case "contains": return s.includes(a);
		case "equalsIgnoreCase": return globalThis.$j.alike(s, a);
		default: return s[name](...(a === undefined ? [] : [a]));
		}
	},
};
})();
