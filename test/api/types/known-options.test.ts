/** Each option that undici's types have is known: none of them is warned of. */

import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import ts from 'typescript'
import { describe, expect, it } from 'vitest'
import {
  CONNECT_OPTIONS,
  DISPATCHER_OPTIONS,
  FETCH_OPTIONS,
  REQUEST_OPTIONS,
} from '../../../src/options/known-options.ts'

/** It exists only in memory. */
const file = join(fileURLToPath(new URL('.', import.meta.url)), 'undici-options.ts')

const KINDS = {
  Dispatcher: { known: DISPATCHER_OPTIONS, type: 'U.Client.Options & U.Pool.Options & U.Agent.Options' },
  Proxy: { known: DISPATCHER_OPTIONS, type: 'U.ProxyAgent.Options & U.EnvHttpProxyAgent.Options' },
  Dispatch: { known: REQUEST_OPTIONS, type: 'U.Agent.DispatchOptions & U.Dispatcher.PipelineOptions' },
  Tunnel: { known: REQUEST_OPTIONS, type: 'U.Dispatcher.ConnectOptions & U.Dispatcher.UpgradeOptions' },
  Connect: { known: CONNECT_OPTIONS, type: 'U.buildConnector.BuildOptions' },
  Fetch: { known: FETCH_OPTIONS, type: 'U.RequestInit' },
}

/** The names of the properties of each type, by kind. */
function readNames(module: string): Map<string, string[]> {
  const aliases = Object.entries(KINDS).map(([kind, { type }]) => `export type ${kind} = ${type}`)
  const text = [`import type * as U from '${module}'`, ...aliases].join('\n')
  const options: ts.CompilerOptions = {
    strict: true,
    module: ts.ModuleKind.NodeNext,
    target: ts.ScriptTarget.ES2022,
    lib: ['lib.es2023.d.ts'],
    types: ['node'],
  }
  const host = ts.createCompilerHost(options)
  const { fileExists, getSourceFile } = host
  host.fileExists = (path) => path === file || fileExists(path)
  host.getSourceFile = (path, target, ...rest) =>
    path === file ? ts.createSourceFile(path, text, target) : getSourceFile(path, target, ...rest)
  const program = ts.createProgram([file], options, host)
  const checker = program.getTypeChecker()
  const names = new Map<string, string[]>()
  program.getSourceFile(file)?.forEachChild((node) => {
    if (!ts.isTypeAliasDeclaration(node)) return
    const properties = checker.getTypeAtLocation(node).getProperties()
    names.set(
      node.name.text,
      properties.map(({ name }) => name),
    )
  })
  return names
}

describe.each(['undici-6', 'undici', 'undici-8'])('%s', (module) => {
  const names = readNames(module)

  it.each(Object.entries(KINDS))('has no option that Dodici does not know: %s', (kind, { known }) => {
    const theirs = names.get(kind) ?? []
    expect(theirs.length).toBeGreaterThan(5)
    expect(theirs.filter((name) => !known.accepted.has(name) && !known.foreign.has(name))).toEqual([])
  })
})
