import { describe, expect, it } from 'vitest'
import { Output } from '../../src/protocol/output.ts'

function setUp() {
  /** What the listener was told. */
  const told: string[] = []
  const output = new Output({ onOutput: (isPatient) => told.push(isPatient ? 'patient' : 'urgent') })
  /** @returns how many bytes were handed over */
  const flush = (): number => {
    const sizes: number[] = []
    output.flush({ write: (bytes) => sizes.push(bytes.length) })
    return sizes.reduce((sum, size) => sum + size, 0)
  }
  return { told, output, flush }
}

describe('Output', () => {
  it('reports each kind of urgency once until it is flushed', () => {
    const { told, output, flush } = setUp()
    output.requestPatientFlush()
    output.requestPatientFlush()
    output.requestFlush()
    output.requestFlush()
    expect(told).toEqual(['patient', 'urgent'])
    flush()
    output.requestFlush()
    expect(told).toEqual(['patient', 'urgent', 'urgent'])
  })

  it('when urgent frames wait › does not report patient ones', () => {
    const { told, output } = setUp()
    output.requestFlush()
    output.requestPatientFlush()
    expect(told).toEqual(['urgent'])
  })

  it('when it is flushed › hands over each byte once', () => {
    const { output, flush } = setUp()
    output.writer.reset(1, 8)
    output.writer.windowUpdate(0, 10)
    expect([flush(), flush()]).toEqual([26, 0])
  })

  describe('when uploads begin in one turn', () => {
    it('urgent frames of the first wait for the last', () => {
      const { told, output } = setUp()
      output.expectUpload()
      output.expectUpload()
      output.requestFlush()
      expect(told).toEqual(['urgent'])
      output.flush({ write() {} })
      output.onUploadTurn()
      output.requestFlush()
      expect(told).toEqual(['urgent', 'patient'])
      output.onUploadTurn()
      expect(told).toEqual(['urgent', 'patient', 'urgent'])
    })

    it('frames are urgent as usual before the first, and after the last', () => {
      const { told, output } = setUp()
      output.expectUpload()
      output.requestFlush()
      output.flush({ write() {} })
      output.onUploadTurn()
      expect(told).toEqual(['urgent'])
      output.requestFlush()
      expect(told).toEqual(['urgent', 'urgent'])
    })

    it('and another becomes due meanwhile › a flush ends the wait', () => {
      const { told, output } = setUp()
      output.expectUpload()
      output.expectUpload()
      output.onUploadTurn()
      output.requestFlush()
      output.expectUpload()
      output.flush({ write() {} })
      output.requestFlush()
      expect(told).toEqual(['patient', 'urgent'])
    })
  })
})
