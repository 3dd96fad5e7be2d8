/** The peer of one attack, in a process of its own. It ends with its parent. */
import { serve } from '../../scripts/child.mjs'
import { toAttackScript } from '../../test/support/peers/attack-peer.ts'
import { findAttack } from '../../test/support/peers/attacks.ts'
import { listenPeer } from '../../test/support/peers/peer.ts'

/** @type {{ name: string, key: string, cert: string }} */
const { name, key, cert } = JSON.parse(process.argv[2] ?? '{}')

const attack = findAttack(name)
const peer = await listenPeer(toAttackScript(attack), attack.isTls ? { key, cert } : {})
const methods = { listen: () => peer.origin }
serve(methods)

/** @typedef {typeof methods} Methods */
