/** The scenes of the soak: programs as users write them, through restarts of their servers. */
import { collect, conclude, judgeRest, toProcessState, watchProcess } from '../verdict.mjs'
import { playGateway } from './gateway.mjs'
import { playPatience } from './patience.mjs'
import { playPool } from './pool.mjs'
import { Scene } from './scene.mjs'
import { playSender } from './sender.mjs'

/** @type {Readonly<Record<string, (scene: Scene) => Promise<void>>>} */
const SCENES = { sender: playSender, gateway: playGateway, pool: playPool, patience: playPatience }

export const sceneNames = Object.keys(SCENES)

/** @param {'node' | 'wire'} engine @param {import('./scene.mjs').SceneOptions} options */
export async function runScene(engine, options) {
  console.log(`Scene ${options.scene}: engine ${engine}, seed ${options.seed}, Node ${process.versions.node}`)
  const dodici = await import(options.module)
  const scene = new Scene(engine, options, dodici)
  const unwatch = watchProcess(scene.watch)
  const before = toProcessState()
  const begun = performance.now()
  try {
    await SCENES[options.scene](scene)
  } finally {
    await scene.stop()
  }
  scene.report()
  console.log(`It took ${((performance.now() - begun) / 1_000).toFixed(0)} s`)
  // What their ends leave to later turns comes first.
  await collect()
  judgeRest(scene.watch, { listeners: 0 }, before)
  unwatch()
  conclude(scene.watch)
}
