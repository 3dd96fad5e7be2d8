/** Vectors: of our own, and the published ones, which are read where they are found beside the project. */

import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

/** Files of one kind. */
export interface VectorFolder {
  /** For the titles of tests. */
  readonly origin: 'our own' | 'published'
  readonly path: string
}

const OWN = join(import.meta.dirname, '../vectors')
const PUBLISHED = join(import.meta.dirname, '../../../../shared/vectors')

/** The folder of our own vectors. */
export function toOwnVectors(kind: 'frames' | 'hpack'): VectorFolder {
  return { origin: 'our own', path: join(OWN, kind) }
}

/** The folder of the published vectors, or none: no test needs them, and without them no test is left out. */
export function findPublishedVectors(kind: 'frames' | 'hpack'): VectorFolder[] {
  const path = join(PUBLISHED, kind)
  return existsSync(path) ? [{ origin: 'published', path }] : []
}

/** What a file of a folder says. */
export function readVectors<T>({ path }: VectorFolder, name: string): readonly T[] {
  const vectors: readonly T[] = JSON.parse(readFileSync(join(path, `${name}.json`), 'utf8'))
  return vectors
}
