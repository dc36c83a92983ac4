// Package lenient reads requests as clients write them: numbers as texts, old spellings and unknown keys. Invalid values give
// the error of the first field that has one.
//
//	request, err := lenient.ReadOne("Site", raw, notes, func(o *lenient.Object) Request {
//		return Request{ID: o.ReadText("id"), Max: o.ReadInt("max", 100)}
//	})
//	// notes has the keys that are not read
//
// A [PropertyReader] does the same for the properties of a site. Source: docs/spec/objects.md 0.
package lenient
