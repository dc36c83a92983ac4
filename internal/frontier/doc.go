// Package frontier says which URLs are next: the selections with which tasks take rows for crawling and for processing,
// and the batches that do so.
//
//	rules := frontier.Rules{Sites: []string{id}, URLs: frontier.DefaultCrawl, MaxURLs: 500}
//	request, err := rules.CrawlBatch(frontier.NewBatchID(), nil)
//
// A batch is submitted empty. Its task takes rows, one transaction a time, until nothing is due or its time is over
// (docs/architecture.md, "How the next URL is chosen"). The packages below this one decide inside a batch.
package frontier
