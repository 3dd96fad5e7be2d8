/** The responses of the APIs of OpenAI and of Anthropic. */

const GPT = { id: 'chatcmpl-1', created: 1, model: 'gpt' }

export const GPT_COMPLETION = {
  ...GPT,
  object: 'chat.completion',
  choices: [{ index: 0, finish_reason: 'stop', message: { role: 'assistant', content: 'Hello.' } }],
}

export const GPT_CHUNKS = ['Hel', 'lo.'].map((content) => ({
  ...GPT,
  object: 'chat.completion.chunk',
  choices: [{ index: 0, finish_reason: null, delta: { content } }],
}))

const USAGE = { input_tokens: 1, output_tokens: 1 }

export const CLAUDE_MESSAGE = {
  id: 'msg_1',
  type: 'message',
  role: 'assistant',
  model: 'claude',
  content: [{ type: 'text', text: 'Hello.' }],
  stop_reason: 'end_turn',
  stop_sequence: null,
  usage: USAGE,
}

export const CLAUDE_EVENTS = [
  { type: 'message_start', message: { ...CLAUDE_MESSAGE, content: [], stop_reason: null } },
  { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
  { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'Hel' } },
  { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'lo.' } },
  { type: 'content_block_stop', index: 0 },
  { type: 'message_delta', delta: { stop_reason: 'end_turn', stop_sequence: null }, usage: USAGE },
  { type: 'message_stop' },
]

/** Server-sent events. OpenAI's end with a word of their own, Anthropic's have names. */
export function toEventStream(values: readonly object[], { ends = false } = {}): string[] {
  const events = values.map((value) => {
    const name = 'type' in value ? `event: ${value.type}\n` : ''
    return `${name}data: ${JSON.stringify(value)}\n\n`
  })
  return ends ? [...events, 'data: [DONE]\n\n'] : events
}
