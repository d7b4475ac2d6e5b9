// Package jmxtest writes JMeter's plans for tests.
package jmxtest

import (
	"fmt"
	"slices"
	"strings"
)

// Plan wraps thread groups into a test plan.
func Plan(inner string) string {
	return `<jmeterTestPlan version="1.2"><hashTree><TestPlan testname="P"/><hashTree>` + inner + `</hashTree></hashTree></jmeterTestPlan>`
}

// Group is a thread group of so many users and loops.
func Group(users, loops int, inner string) string {
	return fmt.Sprintf(`<ThreadGroup testname="G"><elementProp name="ThreadGroup.main_controller" elementType="LoopController">`+
		`<stringProp name="LoopController.loops">%d</stringProp></elementProp>`+
		`<stringProp name="ThreadGroup.num_threads">%d</stringProp></ThreadGroup><hashTree>%s</hashTree>`, loops, users, inner)
}

// Get is a sampler of a path, with what is below it.
func Get(path, below string) string {
	return `<HTTPSamplerProxy testname="` + path + `">` + Prop("HTTPSampler.path", path) + `</HTTPSamplerProxy><hashTree>` + below + `</hashTree>`
}

// Prop is a stringProp.
func Prop(name, text string) string {
	return `<stringProp name="` + name + `">` + strings.NewReplacer("&", "&amp;", "<", "&lt;").Replace(text) + `</stringProp>`
}

// Element is one with nothing below it that holds properties, each given by its name and its value.
func Element(kind string, properties ...string) string {
	var inner strings.Builder
	for p := range slices.Chunk(properties, 2) {
		inner.WriteString(Prop(p[0], p[1]))
	}
	return "<" + kind + ">" + inner.String() + "</" + kind + "><hashTree/>"
}

// Groovy is an element that is a script.
func Groovy(kind, name, text string) string {
	return strings.Replace(Element(kind, "scriptLanguage", "groovy", "script", text), kind, kind+` testname="`+name+`"`, 1)
}
