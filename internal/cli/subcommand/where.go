package subcommand

import "hce/dc/internal/cli/command"

// WhereCondition returns the condition of --where in parentheses. It refuses one whose own
// parentheses do not match: "a) OR (b" would undo the conditions before it, and the reading, which
// goes on behind a key, would never end.
func WhereCondition(text string) (string, error) {
	if !isBalanced(text) {
		return "", command.Refuse("--where %q: its parentheses or quotes do not match", text)
	}
	return "(" + text + ")", nil
}

// isBalanced reports whether each parenthesis outside of quotes has its partner, and each quote ends.
func isBalanced(sql string) bool {
	depth, quote, escaped := 0, rune(0), false
	for _, c := range sql {
		switch {
		case escaped:
			escaped = false
		case quote != 0:
			if escaped = c == '\\' && quote != '`'; c == quote {
				quote = 0
			}
		case c == '\'' || c == '"' || c == '`':
			quote = c
		case c == '(':
			depth++
		case c == ')':
			if depth--; depth < 0 {
				return false
			}
		}
	}
	return depth == 0 && quote == 0
}
