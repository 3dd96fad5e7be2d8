/** Dodici's own `fetch` where libraries take one. Compiled, never run. */

import Anthropic from '@anthropic-ai/sdk'
import { REST } from '@discordjs/rest'
import { request } from '@octokit/request'
import ky from 'ky'
import OpenAI from 'openai'
import { Agent, fetch } from '../../../src/index.ts'

const dispatcher = new Agent()

export const openai = new OpenAI({ fetch, fetchOptions: { dispatcher } })
// @ts-expect-error: what gives something else than a response
export const noOpenai = new OpenAI({ fetch: async () => 'text' })

export const anthropic = new Anthropic({ fetch, fetchOptions: { dispatcher } })
// @ts-expect-error: what gives something else than a response
export const noAnthropic = new Anthropic({ fetch: async () => 'text' })

export const kyInstance = ky.create({ fetch })
export const kyResponse = ky('https://localhost/', { fetch, dispatcher })
// @ts-expect-error: what gives something else than a response
export const noKy = ky.create({ fetch: async () => 'text' })

// Octokit takes any value for it.
export const octokit = request.defaults({ request: { fetch } })

export const discord = new REST({ makeRequest: fetch })
