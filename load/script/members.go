package script

import (
	"reflect"

	"github.com/grafana/sobek/ast"
	"github.com/grafana/sobek/parser"
)

// A Member is a use of something that an object may have: prev.getTime.
type Member struct {
	Line int
	Name string
}

// Missing finds the first member that is asked of an object which has none of that name.
// Of is the object that a variable of a script is, empty where it is another value; gives
// is the object that calling a member of an object comes to. What the script declares
// itself is what it is first set to.
func Missing(src string, of func(variable string) string, gives func(object, member string) (string, bool)) (object string, lacks Member) {
	tree, err := parser.ParseFile(nil, "", src, 0, parserOptions...)
	if err != nil {
		return "", Member{}
	}
	m := members{of: of, gives: gives, own: map[string]string{}}
	m.find = func(n ast.Node) {
		if b, ok := n.(*ast.Binding); ok {
			if name, ok := b.Target.(*ast.Identifier); ok {
				is := m.objectOf(b.Initializer)
				if before, twice := m.own[name.Name.String()]; twice && before != is {
					is = ""
				}
				m.own[name.Name.String()] = is
			}
		}
	}
	m.walk(reflect.ValueOf(tree.Body))
	m.find = func(n ast.Node) {
		dot, ok := n.(*ast.DotExpression)
		if !ok || object != "" {
			return
		}
		is := m.objectOf(dot.Left)
		if is == "" {
			return
		}
		if _, ok := gives(is, dot.Identifier.Name.String()); !ok {
			object, lacks = is, Member{tree.File.Position(int(dot.Identifier.Idx) - tree.File.Base()).Line, dot.Identifier.Name.String()}
		}
	}
	m.walk(reflect.ValueOf(tree.Body))
	return object, lacks
}

// members looks through a script.
type members struct {
	of    func(string) string
	gives func(object, member string) (string, bool)
	own   map[string]string // what the script's own variables are
	find  func(ast.Node)
}

// objectOf is the object that an expression comes to.
func (m *members) objectOf(e ast.Expression) string {
	switch e := e.(type) {
	case *ast.Identifier:
		if is, ok := m.own[e.Name.String()]; ok {
			return is
		}
		return m.of(e.Name.String())
	case *ast.CallExpression:
		if dot, ok := e.Callee.(*ast.DotExpression); ok {
			if object := m.objectOf(dot.Left); object != "" {
				is, _ := m.gives(object, dot.Identifier.Name.String())
				return is
			}
		}
	}
	return ""
}

var nodeType = reflect.TypeFor[ast.Node]()

// walk calls find for every node below a value.
func (m *members) walk(v reflect.Value) {
	switch v.Kind() {
	case reflect.Interface:
		if !v.IsNil() {
			m.walk(v.Elem())
		}
	case reflect.Pointer:
		if v.IsNil() || v.Elem().Kind() != reflect.Struct || v.Type().Elem().PkgPath() != nodeType.PkgPath() {
			return
		}
		if n, ok := v.Interface().(ast.Node); ok {
			m.find(n)
		}
		m.walk(v.Elem())
	case reflect.Slice:
		for i := range v.Len() {
			m.walk(v.Index(i))
		}
	case reflect.Struct:
		if v.Type().PkgPath() != nodeType.PkgPath() {
			return
		}
		for i := range v.NumField() {
			if f := v.Type().Field(i); f.IsExported() && f.Name != "DeclarationList" {
				m.walk(v.Field(i))
			}
		}
	}
}
