import * as z from 'zod'
import { mapBody, withBody } from '../body-streams.ts'
import { isStreamed } from '../wire-faults.ts'
import { defineFaultKind } from './kind.ts'

/** The maximum distance between garbled bytes. */
const STRIDE = 16

/** A complete response of the right length and type with garbled bytes. */
export const garbled = defineFaultKind({
  schema: z.strictObject({ kind: z.literal('garbled') }),
  summary: 'A body of the right length whose bytes are not valid text',
  finding: (_, operation) => `the answer to ${operation} was unreadable`,
  example: { kind: 'garbled' },
  async act(_, hit) {
    const answer = await hit.proceed()
    if (answer.body === null) {
      hit.missed()
      return answer
    }
    let offset = 0
    let drawIndex = 0
    // The bytes 0xf8 to 0xff are invalid in UTF-8. The first byte is always garbled, for short bodies.
    const garble = (bytes: Uint8Array<ArrayBuffer>) => {
      for (; offset < bytes.length; offset += 1 + Math.floor(hit.draw(++drawIndex) * STRIDE))
        bytes[offset] = 0xf8 + (bytes[offset]! & 7)
      offset -= bytes.length
      return bytes
    }
    const body = isStreamed(answer) ? mapBody(answer.body!, garble) : garble(new Uint8Array(await answer.arrayBuffer()))
    return withBody(answer, body)
  },
})
