import * as z from 'zod'
import { mapBody } from '../body-streams.ts'
import { isEventStream } from '../broken-response.ts'
import { defineFaultKind } from './kind.ts'

/** How far garbled bytes are apart, at the most. */
const STRIDE = 16

/** A complete answer of the right length and type whose bytes are not what they were. */
export const garbled = defineFaultKind({
  schema: z.strictObject({ kind: z.literal('garbled') }),
  async act(_, hit) {
    const answer = await hit.proceed()
    const { status, headers } = answer
    let offset = 0
    let drawIndex = 0
    // 0xf8 to 0xff stand nowhere in UTF-8, so no reader takes it for text, and the first makes sure of a short one.
    const garble = (bytes: Uint8Array<ArrayBuffer>) => {
      for (; offset < bytes.length; offset += 1 + Math.floor(hit.draw(++drawIndex) * STRIDE))
        bytes[offset] = 0xf8 + (bytes[offset]! & 7)
      offset -= bytes.length
      return bytes
    }
    if (isEventStream(answer)) return new Response(mapBody(answer.body!, garble), { status, headers })
    return new Response(garble(new Uint8Array(await answer.arrayBuffer())), { status, headers })
  },
})
