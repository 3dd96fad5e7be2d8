import { lacksGo } from '../support/restarting-server.ts'
import { testServer } from './fetch-rig.ts'

testServer('go', lacksGo)
