// Package siteoptions reads the options that describe a site, and makes the objects of SITE_NEW and SITE_UPDATE of them.
//
//	var set siteoptions.Settings
//	set.DeclareOptions(c)
//	object, err := set.NewSite([]string{"https://example.org/"})
package siteoptions
