package subcommand

import (
	"fmt"
	"strings"
	"testing"

	"hce/dc/internal/cli/storestest"
)

// Lists of more than one portion are complete.
func TestManySites(t *testing.T) {
	stores := storestest.Open(t)
	s := &Session{Ctx: t.Context(), Service: stores}
	for i := range 5 {
		stores.NewSite(fmt.Sprintf("https://h%d.example/", i))
	}
	list, err := s.ListSites()
	if err != nil || len(list) != 5 {
		t.Errorf("%d sites, %v", len(list), err)
	}
	if site, err := s.FindSite("h3.example"); err != nil || RootOf(site) != "https://h3.example/" {
		t.Errorf("%+v, %v", site, err)
	}
	if _, err := s.FindSite("h3.exampel"); err == nil || !strings.Contains(err.Error(), "did you mean https://h") {
		t.Error(err)
	}
}
