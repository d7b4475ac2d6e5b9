package pages

// world is what a page takes to be there, besides the files of testdata.
type world struct {
	// before are commands of the shell before the page's own.
	before string
	// files are the names of the files that the page shows, in their order.
	files []string
}

const (
	monolith  = "node server.js\n"
	candidate = "PORT=8090 node server.js\n"
	recorded  = "whittle record --listen :8080 --monolith http://127.0.0.1:3000 --to recorded &\nwhittle load users.yml --seed 7\nkill -INT %2; wait %2\n"
)

var worlds = map[string]world{
	"README.md":      {before: monolith + recorded + candidate},
	"docs/config.md": {before: "cp systems/count/count.binpb .", files: []string{"whittle.yaml"}},
	"docs/find-and-profile.md": {before: `node --inspect server.js
		bin/count -listen 127.0.0.1:6666 -admin 127.0.0.1:6060 &
		bin/count -listen 127.0.0.1:6665 -admin 127.0.0.1:8091 &
		curl -s -o cpu.pb.gz 'http://127.0.0.1:6060/debug/pprof/profile?seconds=1'
		whittle profile http://127.0.0.1:6060 --duration 1s --save after/`},
	"docs/load-jmeter.md":       {before: "cp systems/../examples/load-jmeter/plan.jmx .\n" + monolith + "PORT=8080 node server.js"},
	"docs/load.md":              {before: monolith + "PORT=8080 node server.js", files: []string{"plan.yml"}},
	"docs/new.md":               {before: "sed -i '/- get:/d' users.yml\n" + monolith + recorded},
	"docs/record-and-replay.md": {before: monolith + recorded + candidate},
	"docs/rollout.md":           {before: "openssl rand -hex 32 > preview.key\nmv preview.yaml whittle.yaml\nwhittle run -c whittle.yaml"},
	"docs/tutorial.md":          {files: []string{"app.js", "users.yml", "primes/internal/service/getprime.go"}},
}
