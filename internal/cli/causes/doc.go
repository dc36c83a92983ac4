// Package causes tells from rows why URLs failed or wait, and which hosts are slow.
//
//	for name, n := range causes.Count(rows) {
//		fmt.Println(n, name, causes.Meaning(name))
//	}
package causes
