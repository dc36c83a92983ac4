package config

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// misnamed maps forbidden names of log attributes to the right name, so that one search
// finds all lines of a batch, a site or a URL.
var misnamed = map[string]string{
	"err": "error", "exception": "error", "id": "uid, batch, site or task", "event": "uid", "request": "uid",
	"siteid": "site", "site_id": "site", "sites_id": "site", "batchid": "batch", "batch_id": "batch",
	"link": "url", "uri": "url", "operation": "op", "opcode": "op",
}

var logMethods = regexp.MustCompile(`^(Debug|Info|Warn|Error|With|complain)$`)

// plainName is the spelling of attribute names.
var plainName = regexp.MustCompile(`^[a-zA-Z][a-zA-Z0-9_]*$`)

// Attributes of log lines have the same names in all packages.
func TestLogAttributes(t *testing.T) {
	calls := 0
	for _, root := range []string{"..", filepath.Join("..", "..", "cmd")} {
		err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			set := token.NewFileSet()
			file, err := parser.ParseFile(set, path, nil, parser.SkipObjectResolution)
			if err != nil {
				return err
			}
			ast.Inspect(file, func(n ast.Node) bool {
				if call, ok := n.(*ast.CallExpr); ok && isLog(call) {
					calls++
					for _, fault := range attributeFaults(call) {
						t.Errorf("%s: %s", set.Position(call.Pos()), fault)
					}
				}
				return true
			})
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if calls < 100 {
		t.Errorf("only %d calls were found", calls)
	}
}

// isLog reports whether a call writes to a log: a method of a variable named log, or of the
// result of Log().
func isLog(call *ast.CallExpr) bool {
	method, ok := call.Fun.(*ast.SelectorExpr)
	if !ok || !logMethods.MatchString(method.Sel.Name) {
		return false
	}
	if method.Sel.Name == "complain" {
		return true
	}
	name := ""
	switch x := method.X.(type) {
	case *ast.Ident:
		name = x.Name
	case *ast.SelectorExpr:
		name = x.Sel.Name
	case *ast.CallExpr:
		if f, ok := x.Fun.(*ast.SelectorExpr); ok {
			name = f.Sel.Name
		}
	}
	return strings.EqualFold(name, "log") || name == "logOf"
}

func attributeFaults(call *ast.CallExpr) (faults []string) {
	args := call.Args
	if method := call.Fun.(*ast.SelectorExpr).Sel.Name; method != "With" {
		args = args[min(1, len(args)):] // the message
	}
	for i := 0; i+1 < len(args); i += 2 {
		text, ok := args[i].(*ast.BasicLit)
		if !ok || text.Kind != token.STRING {
			return faults // built elsewhere
		}
		name, _ := strconv.Unquote(text.Value)
		value, _ := args[i+1].(*ast.Ident)
		switch right := misnamed[strings.ToLower(name)]; {
		case right != "":
			faults = append(faults, "attribute "+name+" is called "+right)
		case !plainName.MatchString(name):
			faults = append(faults, "attribute "+name+" is oddly spelt")
		case value != nil && value.Name == "err" && name != "error":
			faults = append(faults, "an error is called error, not "+name)
		}
	}
	return faults
}
