package links

import (
	"fmt"
	"strings"
	"testing"
)

func TestForms(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"no form", `<input name=a value=1>`, ""},
		{"defaults", `<form></form>`, "get "},
		{"method and action", `<form method=" POST " action=' /a?b&amp;c '><input name=q value="x &amp; y"></form>`, "post /a?b&c q=x & y"},
		{"unknown method", `<form method=dialog action=a>`, "get a"},
		{"nested fields", `<form action=a><p><label><input name=q></label></form><input name=r>`, "get a q="},
		{"input types", `<form action=a><input type=hidden name=h value=1><input type=checkbox name=c1 checked><input type=checkbox name=c2 value=x>` +
			`<input type=radio name=r value=1><input type=RADIO name=r value=2 checked><input type=file name=f><input type=reset name=s><input type=image name=i src=i.png>`,
			"get a h=1 c1=on r=2"},
		{"first submit button", `<form action=a><input type=submit name=s1 value=Go><button name=s2>x</button>`, "get a s1=Go"},
		{"button", `<form action=a><button type=button name=x value=1></button><button name=y value=2>z</button>`, "get a y=2"},
		{"disabled", `<form action=a><input name=x disabled><textarea name=y disabled>z</textarea><select name=s disabled><option>1</select>`, "get a"},
		{"no name", `<form action=a><input value=1>`, "get a"},
		{"textarea", "<form action=a><textarea name=t>\nx <b>\ny</textarea><input name=u>", "get a t=x <b>\ny u="},
		{"first option", `<form action=a><select name=s><option value=1>One<option value=2>Two</select>`, "get a s=1"},
		{"selected option", `<form action=a><select name=s><option>One</option><option selected> Two  words </option></select>`, "get a s=Two words"},
		{"unclosed options", `<form action=a><select name=s><option>One<option selected>Two<p></form>`, "get a s=Two"},
		{"option without select", `<form action=a><option value=1>`, "get a"},
		{"two forms", `<form action=a><input name=x></form><form action=b method=post><input name=y></form>`, "get a x= post b y="},
		{"form in form", `<form action=a><form action=b><input name=x></form><input name=y>`, "get a x="},
		{"unclosed form", `<form action=a><input name=x><textarea name=y>z`, "get a x= y=z"},
		{"value too long", `<form action=a><input name=x value=` + strings.Repeat("v", maxValue+1) + `><input name=y>`, "get a y="},
		{"text too long", `<form action=a><textarea name=x>` + strings.Repeat("v", maxValue+1) + `</textarea><input name=y>`, "get a y="},
		{"broken utf-8", "<form action=a><input name=x value=\xff>", "get a x=\uFFFD"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var got []string
			for _, f := range HTML([]byte(c.text), 0).Forms {
				got = append(got, f.Method, f.Action)
				for _, field := range f.Fields {
					got = append(got, field.Name+"="+field.Value)
				}
			}
			if strings.Join(got, " ") != c.want {
				t.Errorf("%.200q, want %q", got, c.want)
			}
		})
	}
	if f := XML([]byte(`<form action="a"><input name="b"/></form>`), 0).Forms; f != nil {
		t.Errorf("forms in XML: %v", f)
	}
}

func TestManyForms(t *testing.T) {
	page := HTML([]byte(strings.Repeat("<form action=a>"+strings.Repeat("<input name=x>", 300)+"</form>", 150)), 0)
	if len(page.Forms) != maxForms || len(page.Forms[99].Fields) != maxFields {
		t.Errorf("%d forms", len(page.Forms))
	}
	HTML([]byte("<form><select name=s>"+strings.Repeat("<option>x", 200_000)+strings.Repeat("<textarea>", 10_000)), 0)
}

func FuzzForms(f *testing.F) {
	f.Add([]byte("<form method=post action=a><input name=b value=c><select name=d><option>e<option selected value=f></select><textarea name=g>\nh"))
	f.Fuzz(func(t *testing.T, text []byte) {
		for _, form := range HTML(text, 10).Forms {
			if form.Method != "get" && form.Method != "post" || len(form.Action) > maxURL || len(form.Fields) > maxFields {
				t.Errorf("form %+v", form)
			}
			for _, field := range form.Fields {
				if field.Name == "" || len(field.Value) > 3*maxValue {
					t.Errorf("field %s", fmt.Sprintf("%.100q", field))
				}
			}
		}
	})
}
