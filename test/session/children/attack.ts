/** One client that suffers one attack, in a process of its own: `attack.mjs NAME OPTIONS`. It prints how the calls ended. */

import * as dodici from '../../../src/index.ts'
import { sufferAttack } from '../../support/clients/attack-client.ts'
import { ATTACKS } from '../../support/peers/attacks.ts'

const [, , name = '', options = ''] = process.argv
const attack = ATTACKS.find((candidate) => candidate.name === name)
if (attack === undefined) throw new Error(`There is no attack '${name}'`)
const outcome = await sufferAttack(dodici, attack, JSON.parse(options))
process.stdout.write(JSON.stringify(outcome), () => process.exit())
