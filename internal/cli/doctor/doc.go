// Package doctor is hce doctor: it checks what a crawl needs, and names a remedy for each fault (docs/doctor.md).
//
//	root.Add(doctor.Command(program))
package doctor
