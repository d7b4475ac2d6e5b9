package config

import (
	"strings"
	"testing"
)

// TestMistakes: what people write by mistake is refused at its line, and the error says
// what to write.
func TestMistakes(t *testing.T) {
	const head = "monolith: http://127.0.0.1:3000\n"
	const route = head + "routes:\n  - match: GET /a\n    candidate: http://127.0.0.1:8090\n"
	for _, c := range []struct{ name, src, want string }{
		{"a tab", head + "limits:\n\tstreams: 3\n", `whittle.yaml:3:1: found character '\t' that cannot start any token: a tab does not indent in YAML; write spaces`},
		{"a key too far in", head + "  listen: :80\n", "whittle.yaml:1:11: not readable as YAML: mapping value is not allowed in this context: the keys of one mapping begin in one column"},
		{"a key too far out", "monolith: http://h\nroutes:\n  - match: GET /a\n   candidate: http://c\n", "whittle.yaml:4:4: not readable as YAML: value is not allowed in this context: the keys of one mapping begin in one column"},
		{"no space", head + "listen::8080\n", "whittle.yaml:2:1: not readable as YAML: non-map value is specified: write KEY: VALUE"},
		{"a pattern in braces", head + "routes:\n  - {match: GET /items/{id}, candidate: http://h}\n", `',' or '}' must be specified: between { and } a text with one of { } [ ] , in it needs quotes: match: "GET /items/{id}"`},
		{"a reserved character", head + "listen: @foo\n", "whittle.yaml:2:9: '@' is a reserved character: put quotes around"},
		{"Latin-1", head + "state: caf\xe9.db\n", "whittle.yaml:2:1: this line is not UTF-8; save the file as UTF-8"},
		{"UTF-16", "\xff\xfem\x00o\x00", "whittle.yaml:1:1: this line is not UTF-8"},
		{"a duration in days", head + "limits: {grace: 1d}\n", `"1d" is not a duration: write 30s, 500ms, 2m or 24h`},
		{"a port that an empty variable leaves out", "monolith: \"http://127.0.0.1:\"\n", "the port is not a number from 1 to 65535"},
		{"a duration beyond time", head + "limits: {grace: 999999999h}\n", `"999999999h" is out of range: from 1ms to 1h`},
		{"a count beyond numbers", head + "limits: {connections: 99999999999999999999}\n", `"99999999999999999999" is out of range: from 1 to 1048576`},
		{"a size of Kubernetes", head + "limits: {header: 64Ki}\n", `"64Ki" is not a size: write 64KiB`},
		{"a size in capitals", head + "limits: {header: 64KB}\n", `"64KB" is not a size: write 64KiB`},
		{"a size of ps", head + "limits: {header: 64k}\n", `"64k" is not a size: write 64KiB`},
		{"a size of anything", head + "limits: {header: 64x}\n", `"64x" is not a size: write 64MiB, 256KiB or 512B`},
		{"an address in a network", head + "forwarded: {trust: [10.0.0.5/8]}\n", `"10.0.0.5/8" is an address in a network: write 10.0.0.0/8 for the network, or 10.0.0.5 for the address alone`},
		{"a pattern", route + "    compare: {ignore_text: ['([a']}\n", "ignore_text[0]: \"([a\" is no pattern: missing closing ]: `[a`"},
		{"a star for all addresses", head + "listen: '*:80'\n", `listen: "*:80": write :80 for all addresses`},
		{"another status", head + "listen: {address: ':80', redirect: {status: 303}}\n", `"303" is unknown; write one of: 301, 302, 307, 308`},
		{"users on the admin port", "listen: :8081\n" + head, `whittle.yaml:1:9: listen: ":8081" is a port of the admin API, which listens on 127.0.0.1:8081; write another port here, or under admin`},
		{"users on the admin address", "admin: 127.0.0.1:8080\n" + head, `listen: ":8080" is a port of the admin API, which listens on 127.0.0.1:8080`},
		{"the config as the state file", head + "state: ./whittle.yaml\n", `whittle.yaml:2:8: state: "whittle.yaml" is the config whittle.yaml already; write another file`},
		{"the config as the access log", head + "access: {file: whittle.yaml}\n", `access.file: "whittle.yaml" is the config whittle.yaml already`},
		{"the state file as the access log", head + "access: {file: whittle.db}\n", `access.file: "whittle.db" is the file of state already; write another file`},
		{"a variable of the shell", "monolith: http://$HOST:3000\n", `"$HOST" is not a host; an environment variable is written ${NAME}`},
		{"any host", "monolith: http://*:3000\n", `"*" is not a host`},
		{"a mode for nobody", "listen: {address: 'unix:a.sock', mode: '0000'}\n" + head, `listen.mode: "0000" lets nobody in: write "0660"`},
		{"a number that may be octal", head + "limits: {streams: 0100}\n", `"0100" begins with 0, which some read as octal: write 100`},
		{"a number in hexadecimal", head + "limits: {streams: 0x64}\n", `"0x64" is not a whole number: write 100`},
		{"a number with an exponent", head + "limits: {streams: 1e3}\n", `"1e3" is not a whole number: write 1000`},
		{"a number with underscores", head + "limits: {streams: 1_000}\n", `"1_000" is not a whole number: write 1000`},
		{"a share of the log", head + "access: {sample: 10%}\n", `"10%" is not a whole number: one in so many is logged, so write 10`},
		{"a log to a word", head + "access: {file: stdout}\n", `access.file: "stdout" would be a file of that name: leave it out for the log, which is standard error, or write /dev/stdout`},
		{"a log to a dash", head + "access: {file: '-'}\n", `access.file: "-" would be a file of that name`},
		{"a log to syslog", head + "access: {file: 'syslog:server=unix:/dev/log'}\n", `would be a file of that name: leave it out for the log, which systemd hands on`},
		{"no log", head + "access: {file: off}\n", `access.file: "off" would be a file of that name: leave access: out`},
		{"state in memory", head + "state: ':memory:'\n", `state: ":memory:" would be a file of that name`},
		{"ids by a flag", head + "access: {request_id: true}\n", `"true" would be the name of the header: write X-Request-ID, or request_id: off`},
		{"ids that are dropped", head + "access: {request_id: X_Request_ID}\n", `"X_Request_ID" has an underscore, and many servers drop such headers`},
		{"IPv4 as IPv6", head + "forwarded: {trust: ['::ffff:10.0.0.0/104']}\n", `"::ffff:10.0.0.0/104" are IPv4 addresses in IPv6's form, and are none of clients': write 10.0.0.0/8`},
		{"one IPv4 as IPv6", head + "forwarded: {trust: ['::ffff:10.0.0.1']}\n", `write 10.0.0.1`},
		{"a secret by a star", head + "redact: {fields: ['pass*']}\n", `redact.fields[0]: "pass*": a name is compared as a whole, and its signs are left out: write each name, or a pattern under patterns`},
		{"a header by a star", head + "redact: {headers: ['X-*']}\n", `redact.headers[0]: "X-*": a name is compared as a whole`},
		{"not a value", route + "    header: X-Beta!=1\n", `"X-Beta!=1": a condition is that a header has a value: write NAME=VALUE`},
		{"two equals signs", route + "    header: X-Beta==1\n", `"X-Beta==1": a condition is that a header has a value`},
		{"a value that nobody sees", route + "    header: \"X-A=\\u202eb\"\n", `has a character in it that nobody sees`},
		{"a path that nobody sees", head + "routes: [{match: \"GET /a\\u00adb\"}]\n", `"GET /a\u00adb" has a character in it that nobody sees: leave it out, or write it as clients send it, such as %C2%AD`},
		{"a path that rings", head + "routes: [{match: \"GET /a\\ab\"}]\n", `has a character in it that nobody sees`},
		{"a host before the path", head + "routes: [{match: GET example.com/a/b}]\n", `"GET example.com/a/b": the path does not begin with /, and a route goes by method and path, whatever the host: write GET /a/b`},
		{"a URL for the path", head + "routes: [{match: 'http://example.com:80/a'}]\n", `a route goes by method and path, whatever the host: write /a`},
		{"users by all cookies", route + "    rollout: {sticky_by: 'header:cookie'}\n", `"header:cookie": all cookies together change whenever one of them does: write cookie:NAME`},
		{"users by what they claim", route + "    rollout: {sticky_by: 'header:X-Forwarded-For'}\n", `anybody may claim any address in it: write address, and the proxies in front under forwarded.trust`},
		{"clients by what they claim", head + "clients: {by: 'header:forwarded'}\n", `anybody may claim any address in it`},
		{"users by what is taken off", head + "routes: [{match: POST /a, candidate: 'http://c:1', dry_run: {X-U: a}, rollout: {sticky_by: 'header:x-u'}}]\n", `routes[0].dry_run: X-U is taken off users' requests, and is what they are known by (sticky_by)`},
		{"a condition that is taken off", head + "routes: [{match: POST /a, header: X-Dry=1, candidate: 'http://c:1', dry_run: {X-Dry: '1'}}]\n", `routes[0].dry_run: X-Dry is taken off users' requests, and is the condition of this route`},
		{"rates in a test", head + "prometheus: {url: 'http://p:9090'}\nroutes: [{match: GET /a, candidate: 'http://c:1', guard: {query: [{name: a, bad: {monolith: 'rate(a[1m])', candidate: b}, total: {monolith: a, candidate: b}}]}}]\n", `bad.monolith: "rate(a[1m])": rate() is no counter`},
		{"a bracket of a query", head + "prometheus: {url: 'http://p:9090'}\nroutes: [{match: GET /a, candidate: 'http://c:1', guard: {query: [{name: a, value: 'max(x', above: 1}]}}]\n", `"max(x" is not a query: ( has no counterpart`},
		{"a week", head + "record: {max_age: 7d}\n", `"7d" is not a duration: write 168h`},
		{"seconds in words", head + "limits: {grace: 5 sec}\n", `"5 sec" is not a duration: write 5s`},
		{"a duration as a clock shows it", head + "limits: {grace: 1:30}\n", `"1:30" is not a duration: write 1m30s, or 1h30m`},
		{"a JSON pointer", route + "    compare: {ignore: [/user/id]}\n", `"/user/id" is not a JSON path: write $.user.id`},
		{"a default in a default", "monolith: ${A_1:-${B_1:-http://h:1}}\n", `a default has no variable in it`},
		{"a variable of a shell alone", "monolith: $MONO\n", `"$MONO" is not a URL: an environment variable is written ${NAME}: write ${MONO}`},
		{"a variable of Kubernetes", "monolith: $(MONO)\n", `write ${MONO}`},
		{"a variable of Windows", "monolith: '%MONO%'\n", `write ${MONO}`},
		{"a zone without its escape", "monolith: http://[fe80::1%eth0]:80\n", `the zone of an address is behind %25: write http://[fe80::1%25eth0]:80`},
		{"no space after a colon", head + "limits:\n  grace:1s\n", `limits: "grace:1s" is a single value, without a space after its colon; write grace: 1s`},
		{"a mark that is not seen", "\ufeff\ufeff" + head, `unknown field; it has a character that only looks like a space, or like nothing`},
		{"a key in another alphabet", head + "limits: {gra\u0441e: 1s}\n", `unknown field; did you mean grace? It has letters of another alphabet: "gra\u0441e"`},
		{"headers by a star", route + "    compare: {headers: ['*']}\n", `compare.headers[0]: "*": a name is compared as a whole: write each one, or headers: all`},
		{"headers but those of a star", route + "    compare: {headers: {except: ['X-*']}}\n", `"X-*": a name is compared as a whole`},
		{"no TLS where there is", "tls: {cert: c.pem, key: k.pem}\nlisten: {address: ':80', tls: false}\n" + head, `listen.tls: is false, and tls: is for no other listener; leave one of the two out`},
		{"a host that is kept", "monolith: {url: 'http://h', host: preserve}\n", `"preserve" is not a host: write client for the client's own, url for the URL's`},
		{"a name that is off", "monolith: {url: 'https://h', tls: {server_name: off}}\n", `"off" would be the name: write one such as app.internal, or leave the field out for its default`},
		{"retries", "monolith: {url: 'http://h', retries: 3}\n", `monolith.retries: unknown field; there is none for it: what may be sent twice is sent again by itself`},
		{"kept connections", "monolith: {url: 'http://h', keepalive: 32}\n", `connections are kept by themselves, and max_age and max_requests bound them`},
		{"failures of nginx", "monolith: {url: 'http://h', max_fails: 3}\n", `here it is called eject.consecutive`},
		{"a backslash between quotes", "state: \"C:\\whittle\"\n" + head, `between " and " a backslash begins an escape; put ' and ' around the text`},
		{"one address inside another", "listen: [':80', '10.0.0.5:80']\n" + head, `whittle.yaml:1:17: listen[1]: "10.0.0.5:80" is a part of listen[0], :80; leave one of the two out`},
		{"an address beyond 255", "monolith: http://300.1.1.1:80\n", `monolith: "http://300.1.1.1:80": "300.1.1.1" is no host: an IPv4 address has four numbers from 0 to 255`},
		{"an address of three numbers", "monolith: http://1.2.3\n", `"1.2.3" is no host: an IPv4 address has four numbers`},
		{"two dots", "monolith: http://app..internal\n", `"app..internal" is no host: a name has letters, digits and dashes`},
		{"a host in other letters", "monolith: http://b\u00fccher.example\n", `is no host as resolvers know it: write xn--bcher-kva.example`},
		{"no address to listen on", "listen: 300.1.1.1:80\n" + head, `listen: "300.1.1.1:80": "300.1.1.1" is no host`},
		{"a star to listen on", "listen: '*:80'\n" + head, `"*:80": write :80 for all addresses`},
		{"a URL to listen on", "listen: http://127.0.0.1:8080\n" + head, `"http://127.0.0.1:8080" is a URL, and here stands where to listen`},
		{"an address without a port", "listen: 127.0.0.1\n" + head, `"127.0.0.1" has no port: write 127.0.0.1:8080`},
		{"IPv6 without brackets", "listen: '::1:8080'\n" + head, `"::1:8080" is not an address; an IPv6 address stands in brackets: write [::1]:8080`},
		{"a URL with IPv6 without brackets", "monolith: http://2001:db8::1\n", `an IPv6 address stands in brackets: write http://[2001:db8::1]:PORT`},
		{"a socket with one slash", "monolith: unix:/run/x.sock\n", `"unix:/run/x.sock" is not a URL: write unix:///run/x.sock`},
		{"a socket with two slashes", "monolith: unix://run/x.sock\n", `write unix:///run/x.sock, with the whole path`},
		{"a socket of nginx", "monolith: http://unix:/run/x.sock:/app\n", `write unix:///run/x.sock`},
		{"a socket of Docker", "monolith: http+unix://%2Frun%2Fx.sock\n", `write unix:///run/x.sock`},
		{"a host and a port", "monolith: app:3000\n", `"app:3000" is not a URL: write http://app:3000`},
		{"a port", "monolith: 3000\n", `it is only a port; write http://127.0.0.1:3000`},
		{"a host", "monolith: localhost\n", `write http://localhost, or http://localhost:PORT`},
		{"more than all", route + "    mirror: {sample: 200%}\n", `"200%" is more than all: write 100% at most`},
		{"no header at all", head + "limits: {header: 0}\n", `"0" is out of range: from 1KiB to 16MiB`},
		{"a header in kilobytes", head + "limits: {header: 64}\n", `"64" has no unit: write 64KiB; it is from 1KiB to 16MiB`},
		{"no bound as nginx has it", head + "limits: {body: 0}\n", `"0" is no size: write off for no bound`},
		{"less than no time", head + "limits: {grace: -5}\n", `"-5" is out of range: from 1ms to 1h`},
		{"TOML", "# settings\n[server]\nlisten = ':8080'\n", "whittle.yaml:2:1: this looks like TOML or INI, and a config is YAML: write KEY: VALUE"},
		{"variables of a shell", "MONOLITH=http://h\nLISTEN=:8080\n", "whittle.yaml:1:1: this looks like TOML or INI"},
		{"nginx", "worker_processes 1;\nhttp {\n  server { listen 80; }\n}\n", "whittle.yaml:1:1: this looks like a config of nginx or Caddy"},
		{"Caddy", ":8080 {\n  reverse_proxy 127.0.0.1:3000\n}\n", "whittle.yaml:1:1: this looks like a config of nginx or Caddy"},
		{"XML", "<config/>\n", "whittle.yaml:1:1: this looks like XML"},
		{"a shell's home", head + "state: ~/whittle.db\n", `state: "~/whittle.db": no shell reads this, so ~ is no folder: write ${HOME}/whittle.db`},
		{"a shell's variable", head + "access: {file: $LOGS/access.log}\n", `access.file: "$LOGS/access.log": an environment variable is written ${NAME}`},
		{"a folder as a file", head + "state: data/\n", `state: "data/" is the name of a folder: write that of a file`},
		{"a key as the state file", head + "state: k.pem\ntls: {cert: c.pem, key: k.pem}\n", `state: "k.pem" is the file of tls.key already`},
		{"a certificate as the access log", head + "access: {file: c.pem}\ntls: {cert: c.pem, key: k.pem}\n", `access.file: "c.pem" is the file of tls.cert already`},
		{"a dry run that never arrives", head + "routes: [{match: POST /a, candidate: 'http://c:1', dry_run: {Connection: x}}]\n", `dry_run: Connection never reaches the candidate, which would mean every mirrored request`},
		{"a dry run by Host", head + "routes: [{match: POST /a, candidate: 'http://c:1', dry_run: {host: x}}]\n", `dry_run: Host never reaches the candidate`},
		{"a condition on Host", route + "    header: Host=a.example\n", `Host is none of the fields that a route sees, so no request has it`},
		{"users by Connection", route + "    rollout: {sticky_by: 'header:connection'}\n", `connection belongs to a connection or a request and says of no user who it is`},
		{"a percent sign in a path", head + "routes: [{match: GET /a%zz}]\n", `a percent sign begins an escape such as %20, and is itself written %25`},
		{"a wildcard in other letters", head + "routes: [{match: \"GET /{\u00e9}\"}]\n", `write /{id}`},
		{"one path in two spellings", head + "routes: [{match: GET /caf%C3%A9}, {match: GET /caf\u00e9}]\n", `neither is the more specific`},
		{"one path in two escapes", head + "routes: [{match: GET /%61}, {match: GET /a}]\n", `neither is the more specific`},
		{"a list as a text", "monolith: http://a:1,http://b:1\n", `write a list: [http://a:1, http://b:1]`},
		{"one slash", "monolith: http:/app:1\n", `write http://app:1`},
		{"no scheme", "monolith: //app:1\n", `write http://app:1`},
		{"an end of line", "monolith: |\n  http://app:1\n", `it has spaces or an end of line around it: write http://app:1`},
		{"quotes of a text", "monolith: \u201chttp://app:1\u201d\n", "its quotes are a part of the text: write \""},
		{"a template", "monolith: {{ url }}\n", `a template ({{ }}) is filled in before whittle reads it`},
		{"a template in quotes", "monolith: '{{ url }}'\n", `a template is filled in before whittle reads it`},
		{"a merge", head + "<<<<<<< HEAD\nstate: a\n=======\nstate: b\n>>>>>>> x\n", "whittle.yaml:2:1: here begins a conflict of a merge"},
		{"no space at all", "monolith:http://h\n", "whittle.yaml:1:1: write KEY: VALUE, with a colon and a space after the key"},
		{"dots in a URL", "monolith: http://h/a/../b\n", `a path with . or .. in it: write http://h/b`},
		{"a space in a URL", "monolith: http://h/a b\n", `a space in a URL is written %20`},
		{"an address in hexadecimal", "monolith: http://0x7f000001\n", `"0x7f000001" is no host`},
		{"Prometheus' API", head + "prometheus: {url: 'http://p:9090/api/v1/query'}\n", `/api/v1/query is put behind it: write http://p:9090`},
		{"a collector's path", head + "trace: {otlp: 'http://c:4318/v1/traces'}\n", `/v1/traces is put behind it: write http://c:4318`},
		{"no admin API", head + "admin: false\n", `"false" is not an address: write off for no admin API`},
		{"recordings next to the config", head + "record: {dir: .}\n", `record.dir: is the folder of the config: write one that holds nothing else`},
		{"yes", head + "underscores_in_headers: yes\n", `"yes" is neither true nor false: write true`},
		{"a multiple in percent", route + "    guard: {p99: 150%}\n", `"150%" is not a multiple: write 1.5x`},
		{"a rate of nginx", head + "clients: {rate: 10r/s}\n", `"10r/s" is not a rate: write 10/s`},
		{"a size of nginx", head + "limits: {body: 8m}\n", `"8m" is not a size: write 8MiB`},
		{"a key too high", head + "steps: [1]\n", "steps: unknown field; it belongs to routes[].rollout.steps"},
		{"a key too low", route + "    grace: 3s\n", "routes[0].grace: unknown field; it belongs to limits.grace"},
		{"a key of another mapping", "monolith: {url: 'http://h', server_name: a}\n", "monolith.server_name: unknown field; it belongs to tls.server_name"},
		{"a key of nginx", head + "client_max_body_size: 8m\n", "unknown field; here it is called limits.body"},
		{"a key of Envoy", "monolith: {url: 'http://h', outlier_detection: {}}\n", "unknown field; here it is called eject"},
		{"a key of Traefik", route + "    rule: x\n", "unknown field; here it is called match"},
		{"a key of Flagger", route + "    stepWeight: 10\n", "unknown field; here it is called rollout.steps"},
		{"a key of Flagger at the top", head + "canary: {}\n", "unknown field; here it is called routes[].rollout.steps"},
		{"an object of Kubernetes", "apiVersion: v1\nkind: ConfigMap\n", "this looks like an object of Kubernetes"},
		{"a load plan", "config: {target: 'http://h'}\nscenarios: []\n", "this looks like a load plan: whittle load runs it"},
		{"a space that is none", head + "limits:\n\u00a0\u00a0grace: 1s\n", "it has a character that only looks like a space"},
		{"a cookie in the access log", head + "access: {fields: ['cookie:sid']}\n", `"cookie:sid" is unknown; of headers write header:X-Tenant or response_header:X-Tenant`},
		{"a socket as the state file", "listen: unix:whittle.db\n" + head, `listen: "whittle.db" is the file of state already`},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := Parse("whittle.yaml", []byte(c.src), readable(t))
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v\nwant %s", err, c.want)
			}
		})
	}
}

// TestWarnings: what is allowed and cannot do what it says is warned of.
func TestWarnings(t *testing.T) {
	for _, c := range []struct {
		monolith, candidate, mirror string
		want                        []string
	}{
		{"", "", "", nil},
		{"", "", "mirror: {max_body: 4MiB}", nil},
		{"", "", "mirror: {max_body: 8MiB}", []string{"8MiB is above the candidate's max_response, 4MiB", "8MiB is above the monolith's max_response, 4MiB"}},
		{", max_response: 8MiB", ", max_response: 8MiB", "mirror: {max_body: 8MiB}", nil},
		{", max_response: 8MiB", ", max_response: 7MiB", "mirror: {max_body: 8MiB}", []string{"above the candidate's max_response, 7MiB"}},
		{", max_response: 64MiB", ", max_response: 64MiB", "mirror: {max_body: 20MiB}", []string{"above a quarter of mirror.max_memory, 16MiB"}},
		{", max_response: 64MiB", ", max_response: 64MiB", "mirror: {max_body: 20MiB, max_memory: 80MiB}", nil},
		{"", ", max_response: 100KiB", "", []string{"256KiB is above the candidate's max_response, 100KiB"}},
	} {
		f := mustParse(t, "monolith: {url: http://h:1"+c.monolith+"}\nroutes:\n  - match: GET /a\n    candidate: {url: http://h:2"+c.candidate+"}\n    "+c.mirror+"\n")
		if len(f.Warnings) != len(c.want) {
			t.Errorf("%+v: %q", c, f.Warnings)
			continue
		}
		for i, want := range c.want {
			if !strings.Contains(f.Warnings[i], want) {
				t.Errorf("%q, want %q", f.Warnings[i], want)
			}
		}
	}
}

// TestCandidateIsMonolith: a candidate that is the monolith proves nothing, and is warned of,
// however the two are written.
func TestCandidateIsMonolith(t *testing.T) {
	for _, c := range []struct {
		monolith, candidate string
		want                int
	}{
		{"http://127.0.0.1:3000", "http://127.0.0.1:3000/", 1},
		{"http://127.0.0.1:3000", "http://127.0.0.1:3001", 0},
		{"http://127.0.0.1:3000", "http://127.0.0.1:3000/v2", 0},
		{"http://127.0.0.1:3000", "http://localhost:3000", 1},
		{"http://127.0.0.1:3000", "h2c://0.0.0.0:3000", 1},
		{"http://127.0.0.1", "http://127.0.0.1:80", 1},
		{"https://App.internal", "https://app.internal.:443", 1},
		{"https://app.internal", "http://app.internal", 0},
		{"http://[::1]:3000", "http://[0:0::1]:3000", 1},
		{"unix:///run/a.sock", "unix:///run/a.sock", 1},
		{"unix:///run/a.sock", "unix:///run/b.sock", 0},
		{"[http://10.0.0.1, http://10.0.0.2]", "http://10.0.0.2", 1},
		{"[http://10.0.0.1, http://10.0.0.2]", "http://10.0.0.3", 0},
	} {
		f := mustParse(t, "monolith: "+c.monolith+"\nroutes:\n  - match: GET /a\n    candidate: "+c.candidate+"\n")
		if len(f.Warnings) != c.want {
			t.Errorf("%s and %s: %q, want %d warnings", c.monolith, c.candidate, f.Warnings, c.want)
		}
	}
}

// TestOddities: what is allowed and surely odd is warned of, at its place.
func TestOddities(t *testing.T) {
	const head = "monolith: http://127.0.0.1:3000\n"
	for name, c := range map[string]struct{ src, want string }{
		"everybody is trusted":        {head + "forwarded: {trust: [10.0.0.0/8, 0.0.0.0/0]}\n", "whittle.yaml:2:33: forwarded.trust[1]: 0.0.0.0/0 is everybody"},
		"everybody is a proxy":        {head + "listen: {address: ':80', proxy_protocol: {trust: ['::/0']}}\n", "listen.proxy_protocol.trust[0]: ::/0 is everybody"},
		"no method":                   {head + "routes: [{match: FETCH /a}]\n", "routes[0].match: FETCH is no method that is registered for HTTP, so hardly a request has it"},
		"a misspelt method":           {head + "routes: [{match: POTS /a}]\n", "so hardly a request has it; did you mean POST?"},
		"a path that is resolved":     {head + "routes: [{match: GET /a/../b}]\n", "clients resolve .. in a path before they send it, so hardly a request has this one: write /b"},
		"a dot as it may be written":  {head + "routes: [{match: /a/%2E/b}]\n", "clients resolve %2E in a path"},
		"certificates without TLS":    {"monolith: {url: http://h, insecure: true}\n", "monolith.insecure: has no effect, since the URL is not https"},
		"nothing is mirrored":         {head + "routes: [{match: GET /a, candidate: 'http://c:1', mirror: {sample: 0%}}]\n", "mirror.sample: 0% mirrors nothing"},
		"a guard that guards nothing": {head + "routes: [{match: GET /a, candidate: 'http://c:1', guard: {errors: 100%}}]\n", "guard.errors: 100% is never exceeded"},
		"a sample of no traces":       {head + "trace: {sample: 5%}\n", "trace.sample: has no effect without otlp:"},
		"the port of gRPC":            {head + "trace: {otlp: 'http://c:4317'}\n", "4317 is the port of OTLP over gRPC"},
		"a bound above another":       {head + "limits: {connections: 100}\nclients: {connections: 200}\n", "clients.connections: 200 is above limits.connections, 100"},
		"a body above all":            {head + "record: {max_body: 16MiB, max_bytes: 1MiB}\n", "record.max_body: 16MiB is above max_bytes, 1MiB"},
		"two access logs":             {head + "log: {access: true}\naccess: {sample: 2}\n", "log.access: has no effect next to access:"},
		"plain HTTP to 443":           {"monolith: http://app:443\n", "speaks plain HTTP to the port of HTTPS"},
		"TLS to 80":                   {"monolith: https://app:80\n", "speaks TLS to the port of plain HTTP"},
		"one instance twice":          {"monolith: [http://127.0.0.1:1, http://localhost:1]\n", "are the same server"},
		"a dry run by Cookie":         {head + "routes: [{match: POST /a, candidate: 'http://c:1', dry_run: {Cookie: a}}]\n", "dry_run: Cookie has a sense of its own"},
		"a dry run that is dropped":   {head + "routes: [{match: POST /a, candidate: 'http://c:1', dry_run: {X_Dry: a}}]\n", "has an underscore, and many servers drop such headers"},
		"nothing of a body":           {head + "routes: [{match: GET /a, candidate: 'http://c:1', compare: {ignore: [$]}}]\n", "compare.ignore[0]: $ is all of the body, so nothing of it is compared"},
		"a connection takes longer":   {"monolith: {url: http://h, timeout: 1s, connect_timeout: 2s}\n", "monolith.connect_timeout: 2s is above timeout, 1s"},
	} {
		f := mustParse(t, c.src)
		if len(f.Warnings) != 1 || !strings.Contains(f.Warnings[0], c.want) {
			t.Errorf("%s: %q, want %s", name, f.Warnings, c.want)
		}
	}
}

// TestRedirectsToThemselves: a redirect that leads back to its listener is warned of.
func TestRedirectsToThemselves(t *testing.T) {
	for listen, want := range map[string]string{
		"{address: ':8443', redirect: {port: 8443}}":    `listen.redirect: leads back to ":8443"`,
		"[':8080', {address: ':443', redirect: https}]": `listen[1].redirect: leads back to ":443"`,
		"[{address: ':443', redirect: https}]":          `listen[0].redirect: leads back to ":443"`,
		"{address: ':80', redirect: https}":             "",
	} {
		got := strings.Join(mustParse(t, "monolith: http://127.0.0.1:3000\nlisten: "+listen+"\n").Warnings, "\n")
		if !strings.Contains(got, want) || want == "" && got != "" {
			t.Errorf("%s: %q, want %q", listen, got, want)
		}
	}
}

// TestNoMistakes: what looks like one of the above, and is none.
func TestNoMistakes(t *testing.T) {
	const head = "monolith: http://127.0.0.1:3000\n"
	for name, src := range map[string]string{
		"a byte order mark":             "\ufeff" + head,
		"lines as Windows ends them":    "monolith: http://127.0.0.1:3000\r\nlisten: :80\r\n",
		"a tab before a comment":        "monolith: http://127.0.0.1:3000\t# a comment\n",
		"letters beyond ASCII":          head + "state: café.db\n",
		"one port of two addresses":     "listen: 127.0.0.2:8081\n" + head,
		"one port of two families":      "listen: ['0.0.0.0:80', '[::1]:80']\n" + head,
		"no admin API":                  "listen: :8081\nadmin: off\n" + head,
		"ports that the system chooses": "listen: [':0', '127.0.0.1:0']\nadmin: 127.0.0.1:0\n" + head,
		"less to connect than in all":   "monolith: {url: http://h, timeout: 2s, connect_timeout: 1s}\n",
		"names with underscores":        "monolith: http://my_app_1:3000\n",
		"a name with numbers":           "monolith: http://web.1:3000\n",
		"a name that is whole":          "monolith: http://app.internal.:3000\n",
		"a scheme in capitals":          "monolith: {url: HTTPS://app.internal, tls: {server_name: app}}\n",
		"a zone":                        "monolith: http://[fe80::1%25eth0]:3000\n",
		"JSON":                          `{"monolith": "http://127.0.0.1:3000", "limits": {"header": "64KiB"}}`,
		"methods of WebDAV and caches":  head + "routes: [{match: PROPFIND /a}, {match: PURGE /a}]\n",
		"an empty part of a path":       head + "routes: [{match: GET /a//b}]\n",
		"dots in a name":                head + "routes: [{match: GET /a/..b}]\n",
		"a proxy that says X-Real-IP":   head + "clients: {by: 'header:X-Real-IP'}\n",
		"a whole network":               head + "forwarded: {trust: [10.0.0.0/8, 10.0.0.5, 10.0.0.5/32, '::1']}\n",
	} {
		t.Run(name, func(t *testing.T) {
			if f := mustParse(t, src); len(f.Warnings) > 0 {
				t.Errorf("warned: %q", f.Warnings)
			}
		})
	}
}
