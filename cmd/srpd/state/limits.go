package state

const (
	// openNeeds is the space that Open wants, in bytes, the reserve and the database that are there counted in: the
	// database's files are about 6 MiB, which are allocated then, and 1 MiB more for each unclean end that was not
	// followed by a clean one.
	openNeeds = 32 << 20

	// writeNeeds is the free space without which nothing is changed, in bytes. A change takes less than 1 KiB of what
	// is allocated; the rest is for a file that badger makes on the way.
	writeNeeds = 8 << 20

	// reserveSize is set aside so that a file system which the disks beside the database have filled lets it be opened
	// and closed all the same: as much as Open wants.
	reserveSize = openNeeds

	// memTable and valueLog are the sizes that badger's mapped files have, in bytes: twice that each. The least that
	// badger takes; records are a few hundred bytes.
	memTable = 1 << 20
	valueLog = 1 << 20

	// atOnce is how many records one transaction has at most: badger takes 15 % of memTable.
	atOnce = 128

	// schema is the number of the layout of keys and values that this package reads and writes.
	schema = 1

	// maxUnits bounds the numbers of units, from 0.
	maxUnits = 256
)
