import { lacksNghttpd } from '../support/nghttpd.ts'
import { testServer } from './fetch-rig.ts'

testServer('nghttpd', lacksNghttpd)
