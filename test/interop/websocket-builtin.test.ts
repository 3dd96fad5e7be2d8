/** Node 20 has its WebSocket behind a flag, and Node its EventSource: in a process that was started with it. */

import { describe, expect, it } from 'vitest'
import { toChild } from './websocket-child.ts'
import { KINDS, toExpectedWays, toWays } from './websocket-clients.ts'
import { ALL_SCENES, DESTROY_SCENE } from './websocket-scenes.ts'
import { startEchoServer } from './websocket-servers.ts'

const runChild = toChild('websocket-builtin')

/** All lines know the flag; on 22 and later it changes nothing. */
const FLAG = '--experimental-websocket'

describe.each(KINDS)(`WebSocket of Node with ${FLAG}, when the server speaks $over`, ({ kind }) => {
  it.each(['given', 'installed'])('goes through an agent that is %s, in every scene', async (how) => {
    const server = await startEchoServer(kind)
    const lines = await runChild([FLAG], server.url, server.ca, kind, how)
    const scenes = kind === 'h2' ? [...ALL_SCENES, DESTROY_SCENE] : ALL_SCENES
    expect(lines).toEqual(scenes.map(({ what, expected }) => ({ what, outcome: expected })))
    expect(toWays(server)).toEqual(toExpectedWays(kind, server.visits.length))
  })
})
