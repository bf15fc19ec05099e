import { z } from 'zod'
import { kind } from './kind.ts'

/** How far garbled bytes are apart, at the most. */
const STRIDE = 16

/** A complete answer of the right length and type whose bytes are not what they were. */
export const garbled = kind({
  schema: z.strictObject({ kind: z.literal('garbled') }),
  async act(_, hit) {
    const answer = await hit.proceed()
    const bytes = new Uint8Array(await answer.arrayBuffer())
    // 0xf8 to 0xff stand nowhere in UTF-8, so no reader takes it for text, and the first makes sure of a short one.
    for (let at = 0, nth = 0; at < bytes.length; at += 1 + Math.floor(hit.draw(++nth) * STRIDE)) {
      bytes[at] = 0xf8 + (bytes[at]! & 7)
    }
    return new Response(bytes, { status: answer.status, headers: answer.headers })
  },
})
