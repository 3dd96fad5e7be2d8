import { describe, expect, it } from 'vitest'
import { CLIENTS, KINDS, toExpectedWays, toStage, toWays } from './websocket-clients.ts'
import { ALL_SCENES } from './websocket-scenes.ts'
import { startEchoServer } from './websocket-servers.ts'

describe.each(CLIENTS)('WebSocket of $client', ({ socketClass }) => {
  describe.each(KINDS)('when the server speaks $over', ({ kind }) => {
    it.each(ALL_SCENES)('$what', async ({ play, expected }) => {
      const server = await startEchoServer(kind)
      expect(await play(toStage(server, socketClass))).toEqual(expected)
      expect(toWays(server)).toEqual(toExpectedWays(kind, server.visits.length))
    })
  })
})
