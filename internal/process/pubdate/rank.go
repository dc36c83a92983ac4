package pubdate

import (
	"strings"
)

// role is what a candidate is a date of.
type role uint8

const (
	ofNothing role = iota // of the page: a comment, a site, an event, the page of a member
	ofPublication
	ofChange
)

// Ranks of candidates for the same date; lower is better. They leave room between sources.
const (
	articleData = 10 // JSON-LD of an article
	articleMeta = 20 // article:published_time and its like
	articleItem = 30 // microdata
	pageData    = 40 // JSON-LD of a page, or without a type
	anyMeta     = 50 // date, dc.date
	createdData = 60 // dateCreated
	timeElement = 70
	dateElement = 80
	lineOfText  = 90
	pathOfURL   = 100
	videoData   = 110 // the date of a video counts on a page that has no date of its own
)

// rankFor returns what a candidate is a date of, and its rank.
func (c *Candidate) rankFor(page Page) (r role, rank int) {
	switch c.Source {
	case JSONLD:
		r, rank = c.rankData()
	case Microdata:
		r, rank = c.rankItem()
	case Meta:
		r, rank = c.rankMeta()
	case Time, Element, Visible:
		return c.rankPlace(page)
	case URL:
		r, rank = ofPublication, pathOfURL
	}
	return r, rank * 100
}

// IsPublication reports whether the candidate would be a date of publication of its page.
func (c Candidate) IsPublication() bool {
	r, _ := c.rankFor(Page{})
	return r == ofPublication
}

// Roles of objects that are not the page.
var foreignRoles = setOf(`comment comments review reviews reviewrating suggestedanswer acceptedanswer answer image associatedmedia
	publisher author creator editor contributor isbasedon citation mentions haspart itemlistelement blogpost about logo audio
	offers potentialaction sponsor event subevent location parent parentitem sharedcontent containsplace workexample primaryimageofpage video
	ispartof subjectof relatedlink significantlink`)

// Types of schema.org.
var (
	articleTypes = setOf(`article newsarticle blogposting report techarticle scholarlyarticle reportagenewsarticle opinionnewsarticle
		analysisnewsarticle reviewnewsarticle backgroundnewsarticle socialmediaposting discussionforumposting liveblogposting recipe howto
		question review advertisercontentarticle satiricalarticle apireference medicalscholarlyarticle criticreview claimreview newsletter
		askpublicnewsarticle chapter blog-posting pressrelease`)
	pageTypes = setOf(`webpage itempage faqpage qapage aboutpage medicalwebpage collectionpage creativework profilepage
		checkoutpage contactpage searchresultspage realestatelisting dataset legislation jobposting podcastepisode learningresource course`)
	videoTypes = setOf(`videoobject audioobject mediaobject`)
)

func setOf(words string) map[string]bool {
	set := map[string]bool{}
	for word := range strings.FieldsSeq(words) {
		set[word] = true
	}
	return set
}

// hasTypeIn reports whether one of the types of the candidate is in a set.
func (c *Candidate) hasTypeIn(set map[string]bool) bool {
	for t := range strings.FieldsSeq(c.Type) {
		if set[strings.ToLower(t[strings.LastIndexAny(t, "/#:")+1:])] {
			return true
		}
	}
	return false
}

// rankData ranks a member of JSON-LD.
func (c *Candidate) rankData() (role, int) {
	if foreignRoles[strings.ToLower(c.Role)] {
		return ofNothing, 0
	}
	kind := pageData + 9
	switch {
	case c.hasTypeIn(articleTypes):
		kind = articleData
	case c.hasTypeIn(pageTypes):
		kind = pageData
	case c.hasTypeIn(videoTypes):
		kind = videoData
	case c.Type != "":
		return ofNothing, 0
	}
	switch strings.ToLower(c.Name) {
	case "datepublished":
		return ofPublication, kind
	case "uploaddate":
		return ofPublication, videoData
	case "datecreated":
		return ofPublication, max(createdData, kind)
	case "datemodified":
		return ofChange, kind
	}
	return ofNothing, 0
}

// rankItem ranks an element with itemprop.
func (c *Candidate) rankItem() (role, int) {
	r, rank := c.rankData()
	if rank < articleItem {
		rank = articleItem
	}
	return r, rank
}

// rankMeta ranks a meta element by its name.
func (c *Candidate) rankMeta() (role, int) {
	name := strings.ToLower(c.Name)
	if n, ok := metaNames[name]; ok {
		return n.role, n.rank
	}
	if !strings.Contains(name, "date") && !strings.Contains(name, "time") {
		return ofNothing, 0
	}
	switch {
	case strings.Contains(name, "modif"), strings.Contains(name, "updat"), strings.Contains(name, "revis"):
		return ofChange, anyMeta + 9
	case strings.Contains(name, "publi"), strings.Contains(name, "issued"):
		return ofPublication, anyMeta + 9
	}
	return ofNothing, 0
}

type metaName struct {
	role role
	rank int
}

// metaNames are the names of meta elements, best first.
var metaNames = func() map[string]metaName {
	names := map[string]metaName{}
	add := func(r role, rank int, list string) {
		for name := range strings.FieldsSeq(list) {
			names[name] = metaName{r, rank}
		}
	}
	add(ofPublication, articleMeta, `article:published_time article:published og:published_time article.published datepublished`)
	add(ofPublication, anyMeta, `parsely-pub-date sailthru.date pubdate publishdate publish_date publish-date publication_date
		published_time published publicationdate rnews:datepublished originalpublicationdate article_date_original cxenseparse:recs:publishtime bt:pubdate
		dcterms.issued dc.date.issued dcterms.created dc.date.created date.created dcterms.date dc.date dc:date dcterms:date date
		citation_publication_date citation_date citation_online_date displaydate ptime date_published`)
	add(ofChange, articleMeta, `article:modified_time datemodified og:updated_time dcterms.modified dc.date.modified last-modified revised lastmod modified updated_time`)
	return names
}()

// labelBonus is what a label of a publication is worth.
const labelBonus = 500

// Lines around the title in which a page says when it was written.
const (
	firstLine = -6
	lastLine  = 15
)

// rankPlace ranks an element or a line near the title.
func (c *Candidate) rankPlace(page Page) (role, int) {
	named := unlabelled
	if c.Source != Visible {
		named = labelOfNames(c.Name)
	}
	if l := labelBefore(c.Before); l != unlabelled && named != foreign {
		named = l
	}
	rank := map[Source]int{Time: timeElement, Element: dateElement, Visible: lineOfText}[c.Source]
	near := c.Line >= firstLine && c.Line <= lastLine
	switch {
	case named == foreign, !near && !c.Inside && named == unlabelled, page.List:
		return ofNothing, 0
	case !near && c.Inside:
		rank += 20
	case !near:
		rank += 30
	}
	rank *= 100
	if c.Line < 0 {
		rank += min(-2*c.Line, 99)
	} else {
		rank += min(c.Line, 99)
	}
	switch named {
	case changed:
		return ofChange, rank
	case published:
		rank -= labelBonus
	}
	return ofPublication, rank
}
