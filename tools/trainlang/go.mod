module hce/dc/tools/trainlang

go 1.26.0

require hce/dc v0.0.0

replace hce/dc => ../..
