package causes

import (
	"fmt"
	"time"

	"hce/dc/canonical"
	"hce/dc/internal/cli/plaintext"
	"hce/dc/internal/manual"
	"hce/dc/internal/wire"
	"hce/dc/internal/wire/errormask"
)

// LeftOut are bits of URLs that did not fail: a rule or a limit left them out.
const LeftOut = errormask.Robots | errormask.FiltersBreak | errormask.MaxURLsFromPage | errormask.UnsupportedType | errormask.RawNotStored | errormask.BadEncoding | errormask.MaxItems | errormask.SiteMaxResources

// Count counts rows by their causes.
func Count(rows []wire.URL) map[string]int64 {
	all := map[string]int64{}
	for _, row := range rows {
		if name := Of(row.ErrorMask); name != "" {
			all[name]++
		}
	}
	return all
}

// Of returns the name of the bit that a URL is counted under: the first one of a failure, or the first one; ""
// without a bit. HTTP_ERROR comes last: codes such as 403 have a bit of their own.
func Of(mask errormask.Mask) string {
	for _, m := range []errormask.Mask{mask &^ LeftOut &^ errormask.HTTP, mask &^ LeftOut, mask} {
		if names := m.Names(); len(names) > 0 {
			return names[0]
		}
	}
	return ""
}

// Hosts are the times of sampled pages by host.
type Hosts map[string]hostTime

type hostTime struct {
	sum time.Duration
	n   int64
}

// AddPage counts a page. Without a time it was not fetched, or took less than a millisecond.
func (t Hosts) AddPage(row wire.URL) {
	u, err := canonical.Net(row.URL)
	if err != nil || row.CrawlingTime == 0 {
		return
	}
	h := t[u.Host]
	t[u.Host] = hostTime{h.sum + time.Duration(row.CrawlingTime)*time.Millisecond, h.n + 1}
}

// Slowest returns the host with the largest mean time of a page.
func (t Hosts) Slowest() (host string, mean time.Duration) {
	for name, h := range t {
		if m := h.sum / time.Duration(h.n); m > mean || m == mean && name < host {
			host, mean = name, m
		}
	}
	return host, mean
}

// Meaning is the message of an error bit.
func Meaning(name string) string {
	for _, bit := range (^errormask.Mask(0)).Bits() {
		if bit.Name == name {
			return bit.Message
		}
	}
	return ""
}

// RetryText says why and when a URL is asked again, or that it was given up; "" for other URLs.
func RetryText(row wire.URL) string {
	switch {
	case row.RetryCause == "":
		return ""
	case row.RetryCause == wire.CauseTrap:
		return manual.Locate("after the other URLs: it belongs to a trap, many URLs that bring no new pages (docs/traps.md)")
	case row.RetryDate == "":
		return fmt.Sprintf("given up after %s; the last cause: %s", plaintext.Count(row.Retries, "request", "requests"), row.RetryCause)
	case row.Retries == 0:
		return fmt.Sprintf("not before %s: its host has a pause", row.RetryDate)
	}
	return fmt.Sprintf("not before %s: asked in vain %s, the last cause: %s", row.RetryDate, plaintext.Count(row.Retries, "time", "times"), row.RetryCause)
}
