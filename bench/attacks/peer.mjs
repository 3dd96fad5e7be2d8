/**
 * The peer of one attack, in a process of its own. It sends its origin as a message, and ends with its parent.
 */
import { TLSSocket } from 'node:tls'
import { toAttackScript } from '../../test/support/attack-peer.ts'
import { findAttack } from '../../test/support/attacks.ts'
import { ScriptedPeer } from '../../test/support/scripted-peer.ts'

/** @type {{ name: string, key: string, cert: string }} */
const { name, key, cert } = JSON.parse(process.argv[2] ?? '{}')

/** @type {import('../../test/support/scripted-peer.ts').PeerOptions} */
const TLS = {
  scheme: 'https',
  wrap: (socket) => new TLSSocket(socket, { isServer: true, key, cert, ALPNProtocols: ['h2'] }),
}

const attack = findAttack(name)
const peer = await ScriptedPeer.listen(toAttackScript(attack), attack.isTls ? TLS : {})
process.send?.({ origin: peer.origin })
process.on('disconnect', () => process.exit())
