/** The peer of one attack, in a process of its own. It sends its origin as a message, and ends with its parent. */
import { toAttackScript } from '../../test/support/peers/attack-peer.ts'
import { findAttack } from '../../test/support/peers/attacks.ts'
import { listenPeer } from '../../test/support/peers/peer.ts'

/** @type {{ name: string, key: string, cert: string }} */
const { name, key, cert } = JSON.parse(process.argv[2] ?? '{}')

const attack = findAttack(name)
const peer = await listenPeer(toAttackScript(attack), attack.isTls ? { key, cert } : {})
process.send?.({ origin: peer.origin })
process.on('disconnect', () => process.exit())
