/** A recorder leaves each byte of an answer as it is, and keeps it. */

import { expect, test } from 'vitest'
import { createSimulator, type ExplorableSimulator, replay } from '../../../src/index.ts'
import { LIMITS } from '../../../src/lib/limits.ts'
import { encodeAnswer, encodeAnswerText } from '../../../src/simulator/history/bodies.ts'
import { parseRecording } from '../../../src/simulator/history/file.ts'
import { Past } from '../../../src/simulator/history/past/past.ts'
import { anyText } from '../../lib/any-text.ts'
import { forAll } from '../../setup/for-all.ts'
import { sendTo } from '../../setup/send-to.ts'

/** Returns the bytes of two answers in hexadecimal: a garbled one, and the next. */
async function readGarbled(sim: ExplorableSimulator, path: string): Promise<string[]> {
  sim.faults.add({ on: '*', times: 1, fault: { kind: 'garbled' } })
  const answers: string[] = []
  for (let request = 0; request < 2; request++) {
    const answer = await sendTo(sim, `GET ${path}`)
    answers.push(Buffer.from(await answer.arrayBuffer()).toString('hex'))
  }
  return answers
}

for (const fixtures of ['empty', 'two-nodes']) {
  for (const path of ['/v1/voices', '/deploy/list', '/v1/batches']) {
    test(`a garbled answer of ${path} in ${fixtures} has the same bytes with a recorder, and is replayed`, {
      tags: 'slow',
    }, async () => {
      const world = () => createSimulator({ seed: 7, fixtures })
      const expected = await readGarbled(world(), path)
      expect(expected[0]).toMatch(/^f[89a-f]/)
      const recorded = world()
      const recording = recorded.record()
      expect(await readGarbled(recorded, path)).toEqual(expected)
      recording.stop()
      expect(await replay(recording)).toEqual({ outcome: 'same', requests: 2 })
      const { lines } = parseRecording(recording.text, 'run')
      const [first] = lines.flatMap(line => ('answer' in line ? [line.body] : []))
      expect(first).toEqual({ base64: Buffer.from(expected[0]!, 'hex').toString('base64') })
      const withPast = world()
      new Past(withPast as never)
      expect(await readGarbled(withPast, path)).toEqual(expected)
    })
  }
}

test('an answer is kept in the same form as text and as bytes', { tags: 'slow' }, () => {
  const isSame = (text: string): void => {
    expect(encodeAnswerText(text)).toEqual(encodeAnswer(new TextEncoder().encode(text)))
  }
  // Bytes cannot hold half of a pair of surrogates.
  const wellFormed = anyText.map(text => Buffer.from(text).toString())
  forAll([wellFormed], isSame)
  const { recordedAnswerBytes: most } = LIMITS
  for (const bytes of [most, most + 1]) isSame('x'.repeat(bytes))
  for (const letters of [most / 2, most / 2 + 1]) isSame('é'.repeat(letters))
})
