/** Agents that end with the test. */

import { onTestFinished } from 'vitest'
import { Agent } from '../../../src/index.ts'
import type { AgentOptions } from '../../../types/index.ts'

export function toAgent(options: AgentOptions): Agent {
  const agent = new Agent({ h2c: true, ...options })
  onTestFinished(() => agent.destroy())
  return agent
}

/** The response to a GET of `/`. */
export async function askAgent(agent: Agent, origin: string): Promise<string> {
  const { body } = await agent.request({ path: '/', method: 'GET', origin })
  return body.text()
}
