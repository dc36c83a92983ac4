package wire

// SiteTotals sums up the sites by category and state. It is our own operation between the status
// server and db-task; clients cannot call it. The object of the request is ignored, the answer is
// a list of SiteTotal.
const SiteTotals Op = 62

// SiteTotal is the sum of the sites of one category and state. The MostCategories categories with
// the most new URLs have their own sums; the rest is summed up as OtherCategories.
type SiteTotal struct {
	Category   int64 `json:"categoryId"`
	State      int64 `json:"state"`
	Sites      int64 `json:"sites"`
	New        int64 `json:"new"`        // URLs that wait to be crawled
	Crawling   int64 `json:"crawling"`   // URLs in crawl batches
	Crawled    int64 `json:"crawled"`    // pages that wait to be processed
	Processing int64 `json:"processing"` // pages in processing batches
}

const (
	// MostCategories is the most categories in an answer to SITE_TOTALS, apart from the rest.
	MostCategories = 20
	// OtherCategories is the category of the rest.
	OtherCategories = -1
)

// Plus adds the numbers of another sum.
func (s SiteTotal) Plus(o SiteTotal) SiteTotal {
	s.Sites, s.New, s.Crawling = s.Sites+o.Sites, s.New+o.New, s.Crawling+o.Crawling
	s.Crawled, s.Processing = s.Crawled+o.Crawled, s.Processing+o.Processing
	return s
}
