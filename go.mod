module minisrp

go 1.26.0

require (
	go.uber.org/goleak v1.3.0
	golang.org/x/sys v0.50.0
)

require (
	github.com/gopacket/gopacket v1.7.7
	golang.org/x/net v0.55.0 // indirect
)
