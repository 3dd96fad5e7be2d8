import { lacksNginx } from '../support/servers/nginx.ts'
import { testServer } from './fetch-rig.ts'

testServer('nginx', lacksNginx)
