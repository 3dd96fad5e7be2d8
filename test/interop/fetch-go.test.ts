import { lacksGo } from '../support/servers/restarting-server.ts'
import { testServer } from './fetch-rig.ts'

testServer('go', lacksGo)
