// Package testgolden compares results of tests with files. The flag -update rewrites the files.
//
//	testgolden.Equal(t, "testdata/answer.json", got)
package testgolden

import (
	"flag"
	"os"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "rewrite the files with the expected results")

// Update reports whether the test rewrites its files with expected results.
func Update() bool { return *update }

// Equal fails the test unless got is the content of the file at path.
func Equal(t testing.TB, path, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if want := readFile(t, path); got != want {
		t.Errorf("%s differs; run the test with -update and review the difference\ngot\n%s\nwant\n%s", path, got, want)
	}
}

// Part is Equal for the part of the file between the lines begin and end.
func Part(t testing.TB, path, begin, end, got string) {
	t.Helper()
	before, rest, found := strings.Cut(readFile(t, path), begin)
	_, after, ended := strings.Cut(rest, end)
	if !found || !ended {
		t.Fatalf("%s has no lines %q and %q", path, begin, end)
	}
	Equal(t, path, before+begin+got+end+after)
}

func readFile(t testing.TB, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
