module hce/dc/bench

go 1.26.0

require (
	golang.org/x/net v0.62.0
	hce/dc v0.0.0
)

replace hce/dc => ../
