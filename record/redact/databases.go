package redact

import "bytes"

// driver gives where the password begins that ends before the at sign at i in an address
// as Go's driver of MySQL and Oracle's write it: bob:secret@tcp(…), bob/secret@//…; 0 for
// none.
func (t *scan) driver(i int) int {
	const longest = 128
	b := t.src
	if !t.w.r.credential || firstOf(b[i:], []string{"@tcp(", "@unix(", "@//"}) == "" {
		return 0
	}
	start := i
	for start > t.from && i-start < longest && b[start-1] > ' ' && b[start-1] != ':' && b[start-1] != '/' && quoteBefore(b, start) == "" {
		start--
	}
	t.w.looked += i - start
	if start == i || start <= t.from || b[start-1] != ':' && b[start-1] != '/' {
		return 0
	}
	return start
}

// pgpass looks for a line of .pgpass, host:port:database:user:password, whose first colon
// is at i, and gives where it ended, 0 where it is none.
func (t *scan) pgpass(i int) int {
	const longest = 256
	b := t.src
	for start := i; start > 0 && b[start-1] != '\n'; start-- {
		if i-start > longest || b[start-1] <= ' ' || b[start-1] == ':' {
			return 0
		}
	}
	line := b[i+1 : t.lineEnd(i)]
	t.w.looked += len(line)
	port, rest, _ := bytes.Cut(line, []byte(":"))
	if n := digits(port, 0); !t.w.r.credential || string(port) != "*" && (n < 2 || n > 5 || n != len(port)) {
		return 0
	}
	database, rest, _ := bytes.Cut(rest, []byte(":"))
	user, password, ok := bytes.Cut(rest, []byte(":"))
	if !ok || len(database) == 0 || len(user) == 0 || len(password) == 0 || bytes.ContainsAny(rest, " \t\"{[") || bytes.Count(password, []byte(":")) > bytes.Count(password, []byte(`\:`)) {
		return 0
	}
	return t.replace(i+1+len(line)-len(password), i+1+len(line))
}
