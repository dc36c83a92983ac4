module hce/dc/tools/train

go 1.26.0

replace hce/dc => ../..
