// Run from a folder where the packed library is installed, as: node connect.mjs
import { Client } from 'dodici'
import * as connect from 'dodici/connect'
import { call } from './connect-call.mjs'

await call(connect, Client)
process.stdout.write(JSON.stringify(Object.keys(connect).sort()))
