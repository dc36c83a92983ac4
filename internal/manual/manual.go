// Package manual says where the pages of the documentation are. Texts of the programs name a page as the
// repository does, and installed programs print where the package has it:
//
//	manual.Locate("docs/traps.md") // /usr/share/doc/dc/traps.md of /usr/bin/hce
package manual

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
)

// Folder has the pages in an installed system (scripts/package.sh).
const Folder = "/usr/share/doc/dc"

// place of the pages from the folder of the programs, in an installed system.
const place = "../share/doc/dc"

var aPage = regexp.MustCompile(`\bdocs/([\w/-]+\.md)\b`)

// installed is the folder of the pages of this program; "" if it is not installed with them.
var installed = sync.OnceValue(func() string {
	program, err := os.Executable()
	if err != nil {
		return ""
	}
	folder := filepath.Join(filepath.Dir(program), place)
	if _, err := os.Stat(filepath.Join(folder, "hce.md")); err != nil {
		return ""
	}
	return folder
})

// Locate returns text with the place of each page that it names. A program that is not installed with the pages
// names them as the repository does.
func Locate(text string) string {
	if !strings.Contains(text, "docs/") {
		return text
	}
	return LocateIn(installed(), text)
}

// LocateIn is Locate for pages in a folder; "" means that of the repository.
func LocateIn(folder, text string) string {
	if folder == "" {
		return text
	}
	return aPage.ReplaceAllString(text, folder+"/$1")
}
