package storage

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"hce/dc/internal/storage/sqldb"
	"hce/dc/internal/storage/sqldb/mariadbtest"
)

// If the database server is down, requests are refused and the process goes on. After a
// restart of the server the next request succeeds.
func TestDatabaseServerDown(t *testing.T) {
	s := mariadbtest.New(t, mariadbtest.Options{Durable: true})
	n := newNodeOn(t, sqldb.Config{Driver: sqldb.DriverMySQL, Server: sqldb.Server{Socket: s.Socket, User: s.User}, Names: s.Names(t)})
	n.good(fmt.Sprintf(`["SITE_NEW",{"id":%q,"urls":[%q]}]`, site, root))
	requests := []string{
		`["SITE_NEW",{"id":"other","urls":["http://other.example.test/"]}]`,
		`["SITE_STATUS",{"id":"` + site + `"}]`,
		`["URL_NEW",[{"siteId":"` + site + `","url":"` + page + `"}]]`,
		`["URL_STATUS",[{"siteId":"` + site + `","url":"` + root + `"}]]`,
		`["URL_FETCH",[{"urlUpdate":{"status":2}}]]`,
		`["URL_CONTENT",[{"siteId":"` + site + `","url":"` + root + `"}]]`,
		`["SITE_DELETE",{"id":"` + site + `","taskType":1}]`,
	}
	s.Kill()
	for _, r := range requests {
		answer, err := n.job.Run(t.Context(), json.RawMessage(r))
		if err != nil {
			t.Errorf("%s ends the process: %v", r, err)
			continue
		}
		raw, err := json.Marshal(answer)
		n.must(err)
		if text := string(raw); !strings.Contains(text, `"refused":true`) || !strings.Contains(text, "cannot be reached") {
			t.Errorf("%s\nanswer %s", r, text)
		}
	}
	n.must(s.Restart())
	for _, r := range requests {
		n.good(r)
	}
	if answer := n.good(`["SITE_STATUS",{"id":"other"}]`); !strings.Contains(answer, `"state":1,`) {
		t.Errorf("site created after the restart: %s", answer)
	}
}
