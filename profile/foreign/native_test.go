package foreign

import (
	"testing"

	"whittle/profile"
)

// Collapsed stacks of native code, as inferno and stackcollapse-perf.pl write them, have
// no files: what a service's own code is its modules say.
func TestNativeStacksWithoutFiles(t *testing.T) {
	for stack, want := range map[string]profile.Owner{
		"shop;main;shop::price 3":                                            profile.Own,
		"shop;_start;shop::main::{{closure}} 3":                              profile.Own,
		"shop;shop::run;<shop::Cart as core::clone::Clone>::clone 3":         profile.Own,
		"shop;shop::run;<T as shop::Priced>::price 3":                        profile.Own,
		"shop;shop::run;<&mut shop::Cart as core::iter::Iterator>::next 3":   profile.Own,
		"shop;Shop::Basket::total(int, std::string const&) 3":                profile.Own,
		"shop;shop::run;core::ops::function::FnOnce::call_once 3":            profile.Standard,
		"shop;shop::run;<alloc::vec::Vec<T> as core::clone::Clone>::clone 3": profile.Standard,
		"shop;shop::run;std::vector<Item, std::allocator<Item> >::reserve 3": profile.Standard,
		"shop;shop::run;tokio::runtime::task::raw::poll 3":                   profile.Library,
		"shop;shop::run;__memcpy_avx_unaligned_erms 3":                       profile.System,
		"shop;shop::run;_ZN2v88internal4HeapEv 3":                            profile.System,
		"shop;shop::run;v8::internal::Heap::Scavenge 3":                      profile.System,
		"shop;shop::run;entry_SYSCALL_64_after_hwframe::kernel_entry_[k] 3":  profile.System,
	} {
		p, err := Read([]byte(stack+"\n"), "")
		if err != nil {
			t.Fatal(err)
		}
		if f := p.Functions[p.Samples[0].Stack[0].Function]; f.Owner != want || p.Runtime != profile.Native {
			t.Errorf("%s: %s is owner %d, want %d; the runtime is %s", stack, f.Name, f.Owner, want, p.Runtime)
		}
	}
	// So have pprof's of a program without what debuggers need.
	named := &profile.Profile{Runtime: profile.Go, Functions: []profile.Function{{Name: "shop::price"}, {Name: "tokio::runtime::run"}, {Name: "clone3"}}}
	Attribute(named)
	for i, want := range []profile.Owner{profile.Own, profile.Library, profile.System} {
		if f := named.Functions[i]; f.Owner != want || named.Runtime != profile.Native {
			t.Errorf("%s is owner %d, want %d; the runtime is %s", f.Name, f.Owner, want, named.Runtime)
		}
	}
	// What the virtual machine of Java does has such names, too.
	p, err := Read([]byte("java;com/example/Shop.price 3\njava;CompileBroker::compiler_thread_loop 2\n"), "")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range p.Functions {
		if f.Name == "CompileBroker::compiler_thread_loop" && f.Owner != profile.System {
			t.Errorf("%s is owner %d", f.Name, f.Owner)
		}
	}
}
