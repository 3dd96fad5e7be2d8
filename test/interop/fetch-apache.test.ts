import { lacksApache } from '../support/apache.ts'
import { testServer } from './fetch-rig.ts'

testServer('apache', lacksApache)
