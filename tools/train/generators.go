package main

import (
	"bytes"
	"strings"
)

// generator is a program that writes documentation, and what its pages mark as their content.
type generator struct {
	name   string   // the part before "/" is the family: pages of a family are in one fold
	signs  []string // all of them are in the page, in lower case
	main   string   // selectors of the main element; the first that is in the page counts
	drop   string   // selectors of parts inside of it that are no content
	absent string   // is not in the page; "" for none
}

// sphinxDrop are marks inside of Sphinx's main element.
const sphinxDrop = "a.headerlink, a.viewcode-link, a.viewcode-back"

// generators are tried in this order.
var generators = []generator{
	{name: "sphinx/django", signs: []string{`id="custom-doc"`}, main: "div#docs-content, div.yui-b, div.body", drop: "a.headerlink, div#sidebar, div.nav"},
	{name: "sphinx/openstack", signs: []string{"docs-body"}, main: "div.docs-body", drop: "div.docs-actions, div.docs-updated, div.docs-top-contents, div.docs-bug, a.headerlink"},
	{name: "mkdocs/material", signs: []string{"md-content__inner"}, main: "article.md-content__inner", drop: "a.headerlink, a.md-content__button"},
	{name: "mkdocs/plain", signs: []string{`role="main"`, "mkdocs"}, main: "div[role=main]", drop: "a.headerlink"},
	{name: "docutils", signs: []string{"docutils", "rst2html"}, main: "main, div.document", drop: "div.header, div.footer, a.headerlink"},
	{name: "sphinx/furo", signs: []string{"furo-main-content"}, main: "article[role=main], article#furo-main-content", drop: sphinxDrop},
	{name: "sphinx/rtd", signs: []string{"wy-nav-content", `role="main"`}, main: "div[role=main], main[role=main]", drop: sphinxDrop},
	{name: "sphinx/pydata", signs: []string{"bd-article"}, main: "article.bd-article, article[role=main], main[role=main], main#main-content, div[role=main]", drop: sphinxDrop},
	{name: "sphinx/alabaster", signs: []string{"alabaster", `role="main"`}, main: "div[role=main], main[role=main]", drop: sphinxDrop},
	{name: "sphinx/classic", signs: []string{"sphinxsidebar", `role="main"`}, main: "div[role=main], main[role=main]", drop: sphinxDrop},
	{name: "sphinx/other", signs: []string{"headerlink", `role="main"`}, main: "div[role=main], main[role=main], section[role=main], article[role=main]", drop: sphinxDrop},
	{name: "publican", signs: []string{"publican"}, main: "body", drop: "p#title, ul.docnav, div#titlepage"},
	{name: "docbook/gtkdoc", signs: []string{`class="navigation"`, "docbook"}, main: "body", drop: "table.navigation, div.footer, div.toc, a.indexterm"},
	{name: "docbook/devhelp", signs: []string{`class="navigation"`, "devhelp"}, main: "body", drop: "table.navigation, div.footer, div.toc, a.indexterm"},
	{name: "docbook/xsl", signs: []string{"docbook xsl", "navheader"}, main: "body", drop: "div.navheader, div.navfooter, a.id_link"},
	{name: "docbook/one", signs: []string{"docbook xsl"}, main: "body", drop: "a.id_link"},
	{name: "rustdoc", signs: []string{"rustdoc", "main-content"}, main: "section#main-content", drop: "a.src, a.srclink, a.anchor, button, span.out-of-band, div.out-of-band"},
	{name: "rustdoc/old", signs: []string{"rustdoc", `id="main"`}, main: "section#main", drop: "a.src, a.srclink, a.anchor, button, span.out-of-band, div.out-of-band"},
	{name: "mdbook", signs: []string{"mdbook", "<main>"}, main: "main", drop: "button, i"},
	{name: "mdbook/rust", signs: []string{"<main>", "book.js"}, main: "main", drop: "button, i"},
	{name: "javadoc/main", signs: []string{"<main", "javadoc"}, main: "main", drop: "script, ul.sub-nav-list, a.anchor-link"},
	{name: "javadoc/old", signs: []string{"contentcontainer", "javadoc"}, main: "div.contentContainer", drop: "script"},
	{name: "groovydoc", signs: []string{"contentcontainer", "groovydoc"}, main: "div.contentContainer", drop: "script"},
	{name: "doxygen", signs: []string{"doxygen", `class="contents"`}, main: "div.contents", drop: "div.ttc, a.anchor, div.dynheader, div.dyncontent, iframe"},
	{name: "qdoc", signs: []string{`class="navigationbar"`}, main: "div.main", drop: "div.sidebar, div.toc, ul.breadcrumb, div.navigationbar, div.footer, p.naviNextPrevious"},
	{name: "gidocgen", signs: []string{`id="main"`, "body-wrapper"}, main: "section#main", drop: "a.anchor, a.srclink"},
	{name: "nodejs", signs: []string{`id="apicontent"`}, main: "div#apicontent", drop: "a.mark, div#toc, details, header, input"},
	{name: "asciidoc", signs: []string{"asciidoc", `id="content"`}, main: "body", drop: "div#footer, div#toc"},
	{name: "texinfo", signs: []string{"makeinfo"}, main: "body", drop: "table.header, div.header, div.nav-panel, a.copiable-link, a.index-entry-id", absent: "texi2html"},
	{name: "texinfo/texi2any", signs: []string{"texi2any"}, main: "body", drop: "table.header, div.header, div.nav-panel, a.copiable-link, a.index-entry-id"},
	{name: "texinfo/lilypond", signs: []string{"texi2html", `id="main"`}, main: "div#main", drop: "table.nav_table, div.nav_table, p.nav_table"},
	{name: "apache", signs: []string{`id="page-content"`}, main: "div#page-content", drop: "div#quickview, div.top, a.permalink, div.toplang, div.bottomlang"},
	{name: "haddock", signs: []string{`id="module-header"`, `id="content"`}, main: "div#content", drop: "div#table-of-contents, div#contents-list, div#synopsis, details#syn, a.selflink, a.link"},
	{name: "crystal", signs: []string{"crystal docs"}, main: "div.main-content", drop: "a.method-permalink, a.view-source, a.signature-anchor"},
	{name: "rdoc", signs: []string{"rdoc", "<main"}, main: "main[role=main], main", drop: "span.method-click-advice, div.method-source-code"},
	{name: "yard", signs: []string{"yard", `id="content"`}, main: "div#content", drop: "a.toggleSource, table.source_code, span.showSource"},
	{name: "ldoc", signs: []string{"ldoc", `id="content"`}, main: "div#content"},
	{name: "luadoc", signs: []string{`id="product_logo"`, `id="content"`}, main: "div#content"},
	{name: "nimdoc", signs: []string{"nimdoc", `id="content"`}, main: "div#content"},
	{name: "mediawiki", signs: []string{"mw-content-text"}, main: "div#mw-content-text", drop: "span.editsection, table#toc, div#toc, div.t-navbar, span.mw-editsection"},
	{name: "odoc", signs: []string{"odoc", `class="content"`}, main: "div.odoc-content, div.content", drop: "nav.odoc-toc, nav.odoc-nav, a.anchor"},
	{name: "ocamldoc", signs: []string{`class="navbar"`}, main: "body", drop: "div.navbar"},
	{name: "naturaldocs", signs: []string{"cmainpagetitle", `id="content"`}, main: "div#Content"},
	{name: "naturaldocs/old", signs: []string{"id=content", "id=menu"}, main: "div#Content"},
	{name: "dita", signs: []string{"dita-ot"}, main: "body, main", drop: "div.related-links, nav"},
	{name: "pandoc", signs: []string{`content="pandoc"`}, main: "div.content, body", drop: "div.sidebar, div#TOC, nav#TOC"},
	{name: "gapdoc", signs: []string{"gapdoc2html"}, main: "body", drop: "div.chlinktop, div.chlinkprevnexttop, div.chlinkprevnextbot, div.chlinkbot, p.foot"},
	{name: "latex2html", signs: []string{"latex2html", `class="navigation"`}, main: "body", drop: "div.navigation, table.navigation"},
	{name: "exim", signs: []string{"exim", `id="content"`}, main: "div#content", drop: "div.navigation"},
	{name: "libvirt", signs: []string{"libvirt", "<main"}, main: "main", drop: "a.headerlink"},
	{name: "libreoffice", signs: []string{"displayarea"}, main: "div#DisplayArea"},
}

// generatorFamily returns the part of a generator's name before "/".
func generatorFamily(name string) string {
	f, _, _ := strings.Cut(name, "/")
	return f
}

// generatorOf returns the first generator whose signs are in the page, or nil.
func generatorOf(page []byte) *generator {
	low := bytes.ToLower(page)
	for i := range generators {
		g := &generators[i]
		if g.absent == "" || !bytes.Contains(low, []byte(g.absent)) {
			if hasAll(low, g.signs) {
				return g
			}
		}
	}
	return nil
}

func hasAll(page []byte, signs []string) bool {
	for _, s := range signs {
		if !bytes.Contains(page, []byte(s)) {
			return false
		}
	}
	return true
}
