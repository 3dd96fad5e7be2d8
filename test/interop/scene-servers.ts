/** Servers that all respond alike, as `java/Scene.java` tells, over h2c. Each serves all tests of a file. */

import { execFile, execFileSync, spawnSync } from 'node:child_process'
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { buildGo, lacks } from '../support/servers/programs.ts'
import type { Cleaner } from './fetch-servers.ts'
import { launch, makeFolder } from './fetch-servers.ts'
import { lacksRuntime, requireRuntime } from './runtimes/programs.ts'

type JavaServerName = 'Undertow' | 'Helidon' | 'Jetty' | 'Tomcat'
export type SceneServerName = JavaServerName | 'Bun' | 'x/net of 2022'

/** A server that runs. */
export interface SceneServer {
  /** The one that it listens on by now. */
  readonly port: number
  /** Its output so far. */
  said(): string
  /** Its output, once it matches behind this length. */
  hear(words: RegExp, from: number): Promise<unknown>
}

/** How long downloading and starting one may take, in milliseconds: only with CI=true it is downloaded by a test. */
export const SCENE_START_LIMIT = 300_000

const INSTALL_JAVA = fileURLToPath(new URL('../../scripts/install-java.sh', import.meta.url))
const SOURCES = fileURLToPath(new URL('java/', import.meta.url))
const XNET = fileURLToPath(new URL('xnet-2022/', import.meta.url))
const SCRIPT = fileURLToPath(new URL('children/scene.mjs', import.meta.url))
const BUN = { name: 'Bun', args: [] } as const
const LISTENING = /^listening (\d+)$/gm

/** Whether the tests of one are skipped, which is said aloud. With CI=true they never are. */
export function lacksScene(name: SceneServerName): boolean {
  if (name === 'Bun') return lacksRuntime(BUN)
  if (name === 'x/net of 2022') return lacks('go')
  if (process.env.CI === 'true' || spawnSync(INSTALL_JAVA, ['--installed']).status === 0) return false
  console.warn(`SKIPPED: the tests that need ${name}. scripts/install-servers.sh installs it.`)
  return true
}

/** Starts one that ends with the cleaner. */
export async function startScene(name: SceneServerName, cleaner: Cleaner): Promise<SceneServer> {
  const { path } = await makeFolder(cleaner, 'scene')
  const [command, ...args] = await toCommand(name, path)
  const { voice } = await launch(cleaner, command, args, /^listening/m)
  return {
    get port() {
      return Number([...voice.said.matchAll(LISTENING)].at(-1)?.[1])
    },
    said: () => voice.said,
    hear: (words, from) => voice.hear(words, from),
  }
}

/** @param folder to which it may write */
async function toCommand(name: SceneServerName, folder: string): Promise<[string, ...string[]]> {
  switch (name) {
    case 'Bun':
      return [requireRuntime(BUN), '--no-install', SCRIPT]
    case 'x/net of 2022': {
      const binary = join(folder, 'server')
      await buildGo(binary, { module: XNET })
      return [binary]
    }
    default:
      return await toJavaCommand(name, folder)
  }
}

/** Compiles the servers, which takes a second. */
async function toJavaCommand(name: JavaServerName, folder: string): Promise<[string, ...string[]]> {
  const installed = execFileSync(INSTALL_JAVA, { encoding: 'utf8' }).trim()
  const [java, jars] = [join(installed, 'java/bin/java'), join(installed, 'jars')]
  const files = await readdir(jars)
  const classPath = files.map((file) => join(jars, file)).join(':')
  const compiler = files.find((file) => file.startsWith('ecj-')) ?? 'ecj.jar'
  const options = ['-21', '-proc:none', '-cp', classPath, '-d', join(folder, 'classes'), SOURCES]
  await promisify(execFile)(java, ['-jar', join(jars, compiler), ...options])
  return [java, '-Xmx256m', '-cp', `${classPath}:${join(folder, 'classes')}`, `${name}Server`, folder]
}
