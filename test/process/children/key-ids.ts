/** Makes keys, and names them as certificates do. */

import { createPublicKey, generateKeyPairSync } from 'node:crypto'
import { toKeyId } from '../../../src/cli/certificates/extensions.ts'

const ids = new Set<string>()
for (let made = 0; made < 20_000; made++) {
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  ids.add(toKeyId(createPublicKey(privateKey)).toString('hex'))
}
process.stdout.write(String(ids.size))
