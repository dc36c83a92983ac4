// Package media cleans the tag media: it splits its values into URLs, drops those that a
// filter of the site excludes, and those of images that MEDIA_LIMITS excludes.
//
//	limits, err := media.Parse(value) // MEDIA_LIMITS
//	dropped := media.Rules{Filters: filters, Limits: limits}.Apply(&result, media.Page{Base: url})
//	// dropped says of each URL why it is gone
//
// It fetches nothing. The sizes of images in data: URIs are read from the data. The limits
// apply to an image of the web only as far as its size is known: from the attributes width
// and height of its mark-up, or from Page.Known. An image of unknown size stays. Sources:
// docs/spec/processing.md 2.5, 6.2 #4, #31.
package media
