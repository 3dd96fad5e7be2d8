import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { AccessLine } from './access-log.ts'
import { parseAccessLog } from './access-log.ts'
import { lacks, requireProgram } from './programs.ts'
import { makeFolder, startProcess } from './server-process.ts'

/** A running Apache, with its own HTTP/2: mod_http2. */
export interface Apache {
  readonly origin: string
  /**
   * What `apachectl graceful` does: every connection is retired, by a GOAWAY in two steps. Settles once the next
   * generation serves.
   *
   * A request that crosses the first step of the GOAWAY makes Apache 2.4.71 send a second one with the error
   * 0xfffffc7a, and leave what it had taken up without the rest of its response.
   */
  restart(): Promise<void>
  /** Ends it, and gives its access log: a line for each request that it took up. */
  stop(): Promise<AccessLine[]>
}

export const lacksApache = lacks('apache2')

/** What it says at its start, and once the next generation serves. */
const READY = 'resuming normal operations'

/** Where Debian has the modules. */
const MODULES = '/usr/lib/apache2/modules'

/**
 * A handler in Lua: files would be one response for all, and CGI a process for each. The response is a header alone:
 * see `restart()`.
 */
const ECHO = `
  function handle(request)
    request.status = 204
    request.headers_out['X-Echo'] = request.method .. ' ' .. request.unparsed_uri
    return apache2.OK
  end`

/**
 * Starts an Apache that responds to each request with 204 and its method and path in `x-echo`, over h2c. It ends with
 * the test.
 */
export async function startApache(): Promise<Apache> {
  requireProgram('apache2')
  const folder = await makeFolder('apache')
  await writeFile(join(folder, 'echo.lua'), ECHO)
  const configuration = join(folder, 'apache.conf')
  const { port, signal, stop } = await startProcess(async (port) => {
    await writeFile(configuration, toConfiguration(folder, port))
    const args = ['-f', configuration, '-D', 'FOREGROUND']
    return { command: 'apache2', args, ready: READY }
  })
  return {
    origin: `http://127.0.0.1:${port}`,
    restart: () => signal('SIGUSR1', READY),
    stop: async () => {
      await stop()
      return parseAccessLog(await readFile(join(folder, 'access.log'), 'utf8'))
    },
  }
}

function toConfiguration(folder: string, port: number): string {
  const modules = ['mpm_event', 'http2', 'lua', 'authz_core']
  // User and Group count only for root, who may not serve himself. A connection is known by its client's port.
  return `
    ServerRoot ${folder}
    DefaultRuntimeDir ${folder}
    PidFile ${folder}/apache.pid
    ServerName localhost
    ErrorLog "|/bin/cat"
    LogLevel notice
    User nobody
    Group nogroup
    ${modules.map((name) => `LoadModule ${name}_module ${MODULES}/mod_${name}.so`).join('\n')}
    Listen 127.0.0.1:${port}
    Protocols h2c
    LuaMapHandler ^/ ${folder}/echo.lua handle
    LogFormat "%{remote}p %m %U %>s" line
    CustomLog ${folder}/access.log line`
}
