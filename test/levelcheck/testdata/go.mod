module minisrp

go 1.26
