package links

import "strings"

const (
	maxForms     = 100
	maxFields    = 200
	maxValue     = 4 << 10
	maxFieldName = 255
)

// openForm is the current form. A form inside a form is ignored, as in the HTML standard.
type openForm struct {
	Form
	open      bool
	submitted bool // has its first submit button, whose name is sent too

	// waiting says that following text is the value of field: the content of a textarea or
	// of an option without a value.
	waiting bool
	text    []byte
	field   Field

	inSelect bool // inside the select element named choice
	choice   string
	chosen   Field
	hasFirst bool // chosen is set
	inOption bool
	marked   bool // the current option is selected
}

// startOfForm handles a start tag inside a form, or of a form.
func (s *scanner) startOfForm(tag string) {
	f := &s.form
	name := s.attributeValue("name")
	disabled := s.hasAttribute("disabled")
	switch tag {
	case "form":
		if f.open || len(s.page.Forms) >= maxForms {
			return
		}
		*f = openForm{open: true, text: f.text[:0], Form: Form{Action: cleanURL(s.attributeValue("action")), Method: "get"}}
		if len(f.Action) > maxURL {
			f.open = false
		}
		if strings.EqualFold(strings.TrimSpace(s.attributeValue("method")), "post") {
			f.Method = "post"
		}
	case "input", "button":
		s.endField()
		if !disabled {
			s.addInput(tag, name)
		}
	case "textarea":
		s.endField()
		if !disabled {
			f.waiting, f.text, f.field = true, f.text[:0], Field{Name: name}
		}
	case "select":
		s.endField()
		s.endSelect()
		if !disabled {
			f.inSelect, f.choice, f.hasFirst = true, name, false
		}
	case "option":
		s.endField()
		if !f.inSelect || disabled {
			return
		}
		f.inOption, f.marked = true, s.hasAttribute("selected")
		f.field = Field{Name: f.choice, Value: s.attributeValue("value")}
		if s.hasAttribute("value") {
			f.takeOption()
		} else {
			f.waiting, f.text = true, f.text[:0]
		}
	}
}

// addInput adds an enabled input or button element that a browser would send.
func (s *scanner) addInput(tag, name string) {
	kind := strings.ToLower(strings.TrimSpace(s.attributeValue("type")))
	if tag == "button" && kind == "" {
		kind = "submit"
	}
	value := s.attributeValue("value")
	switch kind {
	case "button", "reset", "image", "file":
		return
	case "submit":
		if s.form.submitted {
			return
		}
		s.form.submitted = true
	case "checkbox", "radio":
		if !s.hasAttribute("checked") {
			return
		}
		if !s.hasAttribute("value") {
			value = "on"
		}
	default:
		if tag == "button" {
			return
		}
	}
	s.form.addField(Field{name, value})
}

// endOfForm handles an end tag inside a form.
func (s *scanner) endOfForm(tag string) {
	switch tag {
	case "form":
		s.endForm()
	case "textarea", "option":
		s.endField()
	case "select":
		s.endField()
		s.endSelect()
	}
}

// endField adds the field that waits for its text.
func (s *scanner) endField() {
	f := &s.form
	if !f.waiting {
		return
	}
	f.waiting = false
	f.field.Value = string(f.text)
	if f.inOption {
		f.field.Value = strings.Join(strings.Fields(f.field.Value), " ")
		f.takeOption()
		return
	}
	f.field.Value = strings.TrimPrefix(strings.TrimPrefix(f.field.Value, "\r"), "\n") // the line end after the tag
	f.addField(f.field)
}

// takeOption chooses the current option if it is the first or selected.
func (f *openForm) takeOption() {
	f.inOption = false
	if f.marked || !f.hasFirst {
		f.chosen = f.field
		f.hasFirst = true
	}
}

// endSelect adds the chosen option.
func (s *scanner) endSelect() {
	if s.form.inSelect && s.form.hasFirst {
		s.form.addField(s.form.chosen)
	}
	s.form.inSelect = false
}

// endForm adds the form to the page.
func (s *scanner) endForm() {
	if !s.form.open {
		return
	}
	s.endField()
	s.endSelect()
	s.page.Forms = append(s.page.Forms, s.form.Form)
	s.form.open, s.form.Form = false, Form{}
}

// addField adds a field that a browser would send.
func (f *openForm) addField(field Field) {
	if field.Name == "" || len(field.Name) > maxFieldName || len(field.Value) > maxValue || len(f.Fields) >= maxFields {
		return
	}
	field.Name = strings.ToValidUTF8(field.Name, "\uFFFD")
	field.Value = strings.ToValidUTF8(field.Value, "\uFFFD")
	f.Fields = append(f.Fields, field)
}
