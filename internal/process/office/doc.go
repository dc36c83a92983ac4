// Package office reads the text and the metadata of office documents: DOCX and PPTX (ECMA-376),
// ODT, ODP and ODS (OASIS OpenDocument).
//
//	page, err := office.Read(body)
//	// <h1>Report</h1><p>Sales by <a href="http://a.example/">region</a></p><ul><li>North</li></ul>
//	html := page.HTML()
//
// Each format is a ZIP archive of XML files. Only the files with the text and the metadata are
// read, with package loosexml: it expands no entities and never fails. Damaged and hostile
// files cost at most MaxBytes of decompressed data. Not read: pictures, deleted and hidden
// text, fields, comments.
package office
