package subcommand

import "testing"

func TestWhereCondition(t *testing.T) {
	for text, good := range map[string]bool{
		"Depth < 3": true, "(`Depth`<3 OR Size>1) AND Status=7": true, "URL LIKE '%(a)'": true, `URL = 'it\'s)'`: true, "URL = 'it''s ('": true, "URL=\")\"": true,
		"1=1) OR (1=1": false, "(1=1": false, "1=1)": false, "URL = 'a": false, `URL = '\') OR (1=1`: false, "`Depth": false,
	} {
		got, err := WhereCondition(text)
		if (err == nil) != good || good && got != "("+text+")" {
			t.Errorf("%s: %q %v", text, got, err)
		}
	}
}
