module dodici.test/xnet-2022

go 1.20

require golang.org/x/net v0.4.0

require golang.org/x/text v0.5.0 // indirect
