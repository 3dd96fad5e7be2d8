module dodici.test/vectors

go 1.19

// Of 2024, as Debian's Go 1.19 compiles it; the encoder is the one that net/http has bundled since.
require golang.org/x/net v0.26.0
