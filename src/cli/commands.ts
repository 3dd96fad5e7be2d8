/**
 * All commands, in the order of the help.
 *
 * The list contains what `dodici --help` shows. A command's code is loaded when the command runs, and the client by the
 * commands that need it: `await import('../index.ts')`.
 *
 * @module
 */

import type { ListedCommand } from './command.ts'

/** Its name is never typed, except in `dodici URL --help`: any URL selects it. */
export const INSPECT: ListedCommand = {
  name: 'URL',
  synopsis: '',
  summary: 'inspect an endpoint and send it a request',
  load: async () => (await import('./inspect/inspect.ts')).inspect,
}

export const COMMANDS: readonly ListedCommand[] = [
  INSPECT,
  {
    name: 'load',
    synopsis: 'URL...',
    summary: 'send many requests and measure them',
    load: async () => (await import('./load/load.ts')).load,
  },
  {
    name: 'serve',
    synopsis: '[DIR]',
    summary: 'serve files and test routes on loopback',
    load: async () => (await import('./serve/serve.ts')).serve,
  },
  {
    name: 'faults',
    synopsis: '[OPTIONS]',
    summary: 'serve faults for testing clients, on loopback',
    load: async () => (await import('./faults/faults.ts')).faults,
  },
  {
    name: 'ca',
    synopsis: '[FILE]',
    summary: 'get the CA certificate of serve and faults',
    load: async () => (await import('./certificates/ca.ts')).ca,
  },
]
