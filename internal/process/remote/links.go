package remote

import (
	"context"
	"errors"
	"fmt"

	"hce/dc/internal/process/linkresolve"
)

// Links requests links and returns where those lead that are redirected. Each fault names links
// that stay as they are.
func (b *Batch) Links(ctx context.Context, p *Page, rules *linkresolve.Rules, links []string) (found map[string]string, faults []error) {
	found = map[string]string{}
	for i, link := range links {
		if i == b.Config.MaxPageLinks {
			faults = append(faults, fmt.Errorf("property LINK_RESOLVE: %d links of the page are left as they are; the limit is %d (max_page_links)", len(links)-i, i))
			break
		}
		if !b.admitLink() {
			faults = append(faults, fmt.Errorf("property LINK_RESOLVE: %d links of the page are left as they are; the batch has requested %d (max_batch_links)", len(links)-i, b.Config.MaxBatchLinks))
			break
		}
		target, err := b.links.getOrAsk(ctx, digestOf(p.Site, link, rules.Method(link), fmt.Sprint(p.Access)), b.Now, b.Config.KeepTime,
			func() (string, error) { return b.resolveLink(ctx, p, rules, link) })
		switch {
		case err != nil:
			faults = append(faults, fmt.Errorf("property LINK_RESOLVE: %.200q is left as it is: %w", link, err))
		case target != link:
			found[link] = target
		}
	}
	return found, faults
}

// admitLink counts a link of the batch, unless it has too many.
func (b *Batch) admitLink() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.requested >= b.Config.MaxBatchLinks {
		return false
	}
	b.requested++
	return true
}

// resolveLink returns where a link leads: the URL that answers, or the one that its body marks. A
// server that refuses HEAD is asked by GET.
func (b *Batch) resolveLink(ctx context.Context, p *Page, rules *linkresolve.Rules, link string) (string, error) {
	if b.Web == nil {
		return "", errors.New("this program sends no requests")
	}
	r := Request{URL: link, Method: rules.Method(link), Cut: true, Access: p.Access}
	if r.Method == linkresolve.Get {
		r.MaxBytes = b.Config.MaxResolveBody
	}
	a, err := b.Web.Get(ctx, r)
	if err == nil && r.Method == linkresolve.Head && (a.Code == codeNoMethod || a.Code == codeUnknownVerb) {
		r.Method = linkresolve.Get
		a, err = b.Web.Get(ctx, r)
	}
	switch {
	case err != nil:
		return "", err
	case a.Code >= codeError:
		return "", fmt.Errorf("%.200q answers with status %d", a.URL, a.Code)
	}
	if target := linkresolve.Marked(a.Body, a.URL); target != "" {
		return target, nil
	}
	return a.URL, nil
}
