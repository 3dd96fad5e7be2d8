import { describe, expect, it } from 'vitest'
import { bundle } from '../support/clients/bundled.ts'
import { runNodeWith } from '../support/clients/child.ts'
import { ENGINES } from '../support/clients/engines.ts'

const toFile = bundle({ 'dead-session': new URL('./children/dead-session.ts', import.meta.url) })

describe.each(ENGINES)('a session that was lost, on engine %s', (engine) => {
  it('when its client opens no other › is not kept, nor what had come of its peer', async () => {
    const { stdout, stderr } = await runNodeWith(['--expose-gc'], toFile('dead-session'), engine)
    expect(stderr).toBe('')
    expect(JSON.parse(stdout)).toEqual({ error: 'SocketError', isLeft: false })
  })
})
