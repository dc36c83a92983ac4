// Package frontend is the web page of the search engine.
//
//	s := frontend.New(frontend.Config{Engine: client, Sources: []frontend.Source{&frontend.Cluster{Service: service}}})
//	err := s.Serve(ctx, listener)
//
// The pages, all with GET:
//
//	/?txt=WORDS&opt=pages|images|documents&start=N   the form and the results
//	/cache=UUID        the cached copy, with its date and its link
//	/versions=UUID     all stored versions, of the cluster and of the archive
//	/version=UUID/SOURCE/ID   one version, shown as the cached copy is
//	/go=UUID           leads to the page itself, and counts that it was opened
//	/status            the Query Manager: processors, queue, rankings
//
// With format=json, or with Accept: application/json, all but the copies answer in JSON. The words of
// the pages are Spanish for a browser that prefers Spanish, else English.
//
// # Copies are hostile
//
// A copy is shown in a frame. Its own answer (/raw=...) has a Content-Security-Policy with sandbox and
// default-src 'none', so that it is as harmless when it is opened alone: no script runs, no form is
// sent, nothing is loaded from any server, no plug-in starts, and its origin is opaque. Only HTML, plain
// text and four formats of images are shown; all else is offered as a file.
package frontend
