/** Uncaught exceptions that a test expects. */

import { onTestFinished } from 'vitest'

/** @returns the messages of uncaught exceptions from here on, which don't fail the test */
export function listenForUncaught(): readonly string[] {
  const listeners = process.listeners('uncaughtException')
  const messages: string[] = []
  process.removeAllListeners('uncaughtException')
  process.on('uncaughtException', ({ message }) => messages.push(message))
  onTestFinished(() => {
    process.removeAllListeners('uncaughtException')
    for (const listener of listeners) process.on('uncaughtException', listener)
  })
  return messages
}
