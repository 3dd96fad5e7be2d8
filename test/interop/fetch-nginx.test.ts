import { lacksNginx } from '../support/nginx.ts'
import { testServer } from './fetch-rig.ts'

testServer('nginx', lacksNginx)
