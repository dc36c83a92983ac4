package article

import (
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// furnitureTags are elements around the text of a page, not of it.
var furnitureTags = map[atom.Atom]bool{
	atom.Nav: true, atom.Aside: true, atom.Footer: true, atom.Form: true, atom.Menu: true, atom.Dialog: true,
	atom.Figcaption: true, atom.Fieldset: true,
}

// furnitureRoles are the values of the attribute role for such elements.
var furnitureRoles = map[string]bool{
	"navigation": true, "complementary": true, "contentinfo": true, "search": true, "dialog": true, "alertdialog": true,
	"alert": true, "menu": true, "menubar": true, "toolbar": true, "tablist": true,
}

// furnitureWords are words in classes and ids of such elements.
var furnitureWords = wordSet(`
	ad ads advert advertisement advertising adsense sponsor sponsored promo promoted promotion outbrain taboola
	nav navbar navigation menu submenu breadcrumb breadcrumbs pagination pager paging toolbar
	share sharing shares sharebar sharedaddy social socials addthis
	related recommended recommendations recirc recirculation popular trending mostread teaser teasers readmore morelinks
	newsletter subscribe subscription signup optin paywall cookie cookies consent gdpr ccpa popup modal overlay
	sidebar footer caption wpcaption credit credits copyright disclaimer
	comment comments disqus respond replies reply
	byline dateline bio authorbox authorbio tags taglist print hidden noprint donate ranking
	toc hatnote navbox catlinks printfooter`)

// furniturePairs are two words in a row of a class or id of such elements. The first word
// alone says nothing.
var furniturePairs = wordSet(`
	author-box author-bio author-info author-card author-description about-author author-about post-author article-author
	read-more read-next up-next see-also also-read more-stories more-news more-posts more-articles most-read most-popular
	most-viewed tag-list post-tags article-tags entry-tags post-meta entry-meta article-meta
	call-action cta-box editors-picks skip-link skip-links sr-only screen-reader visually-hidden
	entry-footer post-footer article-footer post-navigation rate-this star-rating you-may`)

func wordSet(text string) map[string]bool {
	set := map[string]bool{}
	for word := range strings.FieldsSeq(text) {
		set[word] = true
	}
	return set
}

// hints returns what says that an element is furniture: its tag, role, or words of its class
// and id. Empty: nothing does.
func (o *outline) hints(n *html.Node) (found []string) {
	if furnitureTags[n.DataAtom] {
		found = append(found, n.Data)
	}
	for _, a := range n.Attr {
		switch a.Key {
		case "role":
			if furnitureRoles[a.Val] {
				found = append(found, a.Val)
			}
		case "class", "id":
			found = append(found, o.hintsOf(a.Val)...)
		}
	}
	return found
}

// hintsOf returns the hints in a class or id. Equal values are frequent, so they are kept.
func (o *outline) hintsOf(value string) []string {
	found, known := o.tokens[value]
	if known {
		return found
	}
	for name := range strings.FieldsSeq(value) {
		parts := words(name)
		for i, word := range parts {
			if furnitureWords[word] && !(i == 0 && len(parts) > 1 && isState(parts[1:])) {
				found = append(found, word)
			}
			if i > 0 && furniturePairs[parts[i-1]+"-"+word] {
				found = append(found, parts[i-1]+"-"+word)
			}
		}
		if len(parts) > 1 && states[parts[0]] {
			found = nil // such as has-sidebar, no-ads
		}
	}
	o.tokens[value] = found
	return found
}

// states begin a class that describes the page around an element, such as has-sidebar.
var states = wordSet("has no with without is not hide show single js")

// isState reports whether words say that something is only switched on, as in comments-open.
func isState(parts []string) bool {
	return parts[0] == "open" || parts[0] == "closed" || parts[0] == "enabled" || parts[0] == "disabled" || parts[0] == "free"
}

// furniture marks the blocks of furniture. A hint that would take more than half of the prose
// of the page says something else on this page, such as "comment" in a forum.
func (o *outline) furniture() {
	whole := 0
	for i := range o.blocks {
		if o.blocks[i].prose() {
			whole += o.blocks[i].size
		}
	}
	taken, end := map[string]int{}, map[string]int{}
	for _, x := range o.boxes {
		for _, hint := range x.dull {
			if x.start < end[hint] {
				continue // inside of another one
			}
			end[hint] = x.end
			for i := x.start; i < x.end; i++ {
				if o.blocks[i].prose() {
					taken[hint] += o.blocks[i].size
				}
			}
		}
	}
	for _, x := range o.boxes {
		for _, hint := range x.dull {
			if 2*taken[hint] <= whole {
				o.mark(x, weakWords[hint])
			}
		}
	}
}

// weakWords are hints with several meanings: a teaser may be the lead of an article. Blocks of
// such elements that an engine chose stay.
var weakWords = wordSet("teaser teasers hidden print noprint promo promoted overlay modal popup")

// mark marks the blocks of furniture.
func (o *outline) mark(x box, weak bool) {
	for i := x.start; i < x.end; i++ {
		b := &o.blocks[i]
		b.weak = weak && (!b.dull || b.weak)
		b.dull = true
	}
}
