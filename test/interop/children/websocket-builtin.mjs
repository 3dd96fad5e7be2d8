// Node 20's own WebSocket, which a flag brings: plays each scene, and says what came of it, a line each.
import { Agent, install, uninstall } from '../../../src/index.ts'
import { ALL_SCENES, DESTROY_SCENE } from '../websocket-scenes.ts'

const [url, ca, kind, installed] = process.argv.slice(2)
const scenes = kind === 'h2' ? [...ALL_SCENES, DESTROY_SCENE] : ALL_SCENES

for (const { what, play } of scenes) {
  const agent = new Agent({ connect: { ca } })
  if (installed === 'installed') install(agent)
  const stage = { url, agent, socketClass: globalThis.WebSocket, isInstalled: installed === 'installed' }
  console.log(JSON.stringify({ what, outcome: await play(stage) }))
  uninstall()
  await agent.destroy()
}
