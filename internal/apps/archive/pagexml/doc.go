// Package pagexml reads, writes and extends data.xml, which describes one stored page:
//
//	<page>
//	 <meta>
//	  <url>https://example.org/a.html</url> ... the fields of archive.Meta
//	 </meta>
//	 <data>
//	  <words>120</words>
//	 </data>
//	</page>
//
//	text := pagexml.New(meta)
//	text, err := pagexml.Add(text, "words", "120")
//	err = pagexml.Validate(text, schema)
//
// The node meta never changes, and data only grows: [Add] puts bytes in front of </data> and keeps all
// others. [Schema] is the XML schema of the archive. It names the nodes that data may have, and grows
// with them. Validate checks the rules of that schema without an XML library in C; a test compares it
// with xmllint and xmlschema-validate.
//
// XML of clients has no document type, no entities of its own and no processing instructions, and is
// bounded in size and depth. The package does no I/O. Goroutines may share a Schema.
package pagexml
