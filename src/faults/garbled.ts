import * as z from 'zod'
import { changedBody } from './bodies.ts'
import { isStream } from './broken.ts'
import { kind } from './kind.ts'

/** How far garbled bytes are apart, at the most. */
const STRIDE = 16

/** A complete answer of the right length and type whose bytes are not what they were. */
export const garbled = kind({
  schema: z.strictObject({ kind: z.literal('garbled') }),
  async act(_, hit) {
    const answer = await hit.proceed()
    const { status, headers } = answer
    let at = 0
    let nth = 0
    // 0xf8 to 0xff stand nowhere in UTF-8, so no reader takes it for text, and the first makes sure of a short one.
    const garble = (bytes: Uint8Array<ArrayBuffer>) => {
      for (; at < bytes.length; at += 1 + Math.floor(hit.draw(++nth) * STRIDE)) bytes[at] = 0xf8 + (bytes[at]! & 7)
      at -= bytes.length
      return bytes
    }
    if (isStream(answer)) return new Response(changedBody(answer.body!, garble), { status, headers })
    return new Response(garble(new Uint8Array(await answer.arrayBuffer())), { status, headers })
  },
})
