package tap

// CheckICRC is for tests of packets.
var CheckICRC = checkICRC
