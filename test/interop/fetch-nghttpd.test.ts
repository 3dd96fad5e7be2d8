import { lacksNghttpd } from '../support/servers/nghttpd.ts'
import { testServer } from './fetch-rig.ts'

testServer('nghttpd', lacksNghttpd)
