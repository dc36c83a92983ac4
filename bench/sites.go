package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// site is a folder of HTML that nginx serves.
type site struct {
	name    string
	folder  string
	process bool // also measure crawls that process the pages
}

// documentation maps the names of sites to folders below /usr/share/doc, or below .cache/docs,
// where scripts/setup.sh unpacks them on small systems.
var documentation = map[string]string{
	"postgresql": "postgresql-doc-15/html",
	"python":     "python3.11/html",
	"openjdk":    "openjdk-17-jre-headless/api",
}

// findSites finds the folders of sites. A name with a slash is a folder itself.
func findSites(names, process []string) ([]site, error) {
	var sites []site
	for _, name := range names {
		s := site{name: name, process: slices.Contains(process, name)}
		candidates := []string{name}
		if !strings.Contains(name, "/") {
			folder, known := documentation[name]
			if !known {
				return nil, fmt.Errorf("site %s is not known; name postgresql, python, openjdk or a folder with a slash", name)
			}
			candidates = []string{filepath.Join("/usr/share/doc", folder), filepath.Join(".cache/docs", folder)}
		}
		for _, folder := range candidates {
			if info, err := os.Stat(folder); err == nil && info.IsDir() && s.folder == "" {
				if s.folder, err = filepath.Abs(folder); err != nil {
					return nil, err
				}
			}
		}
		if s.folder == "" {
			return nil, fmt.Errorf("site %s: none of the folders %v exists; run scripts/setup.sh bench", name, candidates)
		}
		sites = append(sites, s)
	}
	return sites, nil
}
