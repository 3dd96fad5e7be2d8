import { lacksApache } from '../support/servers/apache.ts'
import { testServer } from './fetch-rig.ts'

testServer('apache', lacksApache)
