/**
 * On what, and of what, figures were measured.
 */
import { spawnSync } from 'node:child_process'
import { arch, availableParallelism, cpus, loadavg, platform, totalmem } from 'node:os'
import { fileURLToPath } from 'node:url'
import { cores } from './children.mjs'
import { nginxVersion } from './nginx.mjs'
import { UsageError } from './options.mjs'
import { nghttpdVersion } from './servers.mjs'

/**
 * @param {string} node a binary
 * @returns {string} such as 24.21.0
 */
export function nodeVersionOf(node) {
  const { status, stdout } = spawnSync(node, ['-p', 'process.versions.node'], { encoding: 'utf8' })
  if (status !== 0) throw new UsageError(`${node} doesn't run as Node`)
  return stdout.trim()
}

/** @param {{ node: string, server: 'nghttpd' | 'node' }} setting */
export function describeMachine({ node, server }) {
  const nodeVersion = nodeVersionOf(node)
  return {
    cpu: cpus()[0]?.model ?? 'unknown',
    cores: availableParallelism(),
    memory: totalmem(),
    platform: `${platform()} ${arch()}`,
    node: nodeVersion,
    server: server === 'nghttpd' ? (nghttpdVersion ?? 'nghttpd') : `node:http2 of Node ${nodeVersion}`,
    http1Server: nginxVersion ?? `node:http of Node ${nodeVersion}`,
    pinned: cores,
    loadBefore: loadavg()[0] ?? 0,
  }
}

/** @param {string[]} args */
function git(...args) {
  const { status, stdout } = spawnSync('git', args, {
    cwd: fileURLToPath(new URL('../..', import.meta.url)),
    encoding: 'utf8',
  })
  return status === 0 ? stdout.trim() : null
}

/** @returns {{ hash: string, isDirty: boolean } | null} null outside of git */
export function readRevision() {
  const hash = git('rev-parse', 'HEAD')
  const changes = git('status', '--porcelain')
  return hash === null || changes === null ? null : { hash, isDirty: changes !== '' }
}
