package foreign

import (
	"slices"
	"strings"

	"whittle/profile"
)

// byModule says whose the functions of native code are that have no file, by the module
// that a name of Rust or C++ begins with, as in "shop::price". What has none, such as C's
// names, and the kernel's stay nobody's.
func byModule(functions []profile.Function) {
	for i := range functions {
		f := &functions[i]
		if f.File != "" || f.Owner != profile.System || f.Category != profile.Work {
			continue
		}
		switch module := moduleOf(f.Name); {
		case module == "" || slices.Contains(nativeRuntimes, module):
		case slices.Contains(nativeStandard, module):
			f.Owner = profile.Standard
		case slices.Contains(nativeLibraries, module):
			f.Owner = profile.Library
		default:
			f.Owner = profile.Own
		}
	}
}

// moduleOf is the first part of a name: "shop" of "shop::price" and of
// "<shop::Cart as core::clone::Clone>::clone", and of "<T as shop::Priced>::price". "": it
// has none.
func moduleOf(name string) string {
	name, _, _ = strings.Cut(name, "(")
	for part := range strings.SplitSeq(strings.TrimLeft(name, "<&*"), " as ") {
		part = strings.TrimPrefix(strings.TrimPrefix(part, "mut "), "dyn ")
		if module, _, ok := strings.Cut(part, "::"); ok && !strings.ContainsAny(module, "<> ") {
			return module
		}
	}
	return ""
}

// The modules of Rust's and C++'s standard libraries, of libraries that services are built
// on, and of runtimes whose frames have such names. What is none of them is the service's own.
var (
	nativeStandard  = strings.Fields(`std core alloc proc_macro test std_detect hashbrown compiler_builtins backtrace __gnu_cxx __cxxabiv1 __rustc`)
	nativeLibraries = strings.Fields(`tokio hyper hyper_util h2 http axum axum_core tower tower_service tower_http tonic prost actix_web actix_http actix_rt actix_server
		actix_service warp rocket futures futures_util futures_core futures_channel async_std smol mio polling crossbeam crossbeam_channel crossbeam_deque crossbeam_epoch
		crossbeam_utils parking_lot parking_lot_core rayon rayon_core serde serde_json serde_urlencoded serde_yaml bincode bytes httparse url regex regex_automata
		regex_syntax aho_corasick memchr rand rand_core rand_chacha rustls ring openssl native_tls sqlx sqlx_core diesel tokio_postgres postgres mongodb redis reqwest
		tracing tracing_core tracing_subscriber log env_logger chrono time uuid indexmap itoa ryu flate2 zstd brotli miniz_oxide tempfile once_cell lazy_static
		matchit pprof jemallocator tikv_jemallocator mimalloc boost absl google grpc grpc_core folly fmt spdlog nlohmann rapidjson simdjson re2 leveldb rocksdb`)
	nativeRuntimes = strings.Fields(`v8 node uv art jdk JavaThread`)
)
