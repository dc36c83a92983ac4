package hceclient_test

import (
	"context"
	"fmt"
	"time"

	hceclient "hce/dc/clients/go"
)

// Crawl a site and print the titles of its pages. TestClients in e2e runs the same lines.
func Example() {
	ctx, c, most := context.Background(), hceclient.Client{}, int64(20)
	crawl, err := c.StartCrawl(ctx, hceclient.NewSite{Roots: []string{"https://example.org/"}, Settings: &hceclient.Settings{MaxURLs: &most}}, time.Minute)
	if err != nil {
		fmt.Println(err)
		return
	}
	for page, err := range c.Pages(ctx, crawl.ID, hceclient.Choice{Fields: []string{"url", "title"}}) {
		fmt.Println(page.Text("url"), page.Text("title"), err)
	}
}
