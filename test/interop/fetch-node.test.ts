import { testServer } from './fetch-rig.ts'

testServer('node')
