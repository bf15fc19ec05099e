/** Speech as audio: a drawn voice whose length follows the text, in four formats. It keeps no state. */
import type { Chance } from '../../kernel/random.ts'
import { createFlacEncoder } from './flac.ts'
import { createMp3Encoder } from './mp3.ts'
import { PIECE_FRAMES, planSpeech, type SpeechText, toSeconds } from './speech-plan.ts'
import { createPcmEncoder, createWavEncoder } from './wav.ts'

const ENCODERS = {
  wav: { create: createWavEncoder, contentType: 'audio/wav' },
  pcm: { create: createPcmEncoder, contentType: 'audio/pcm' },
  flac: { create: createFlacEncoder, contentType: 'audio/flac' },
  mp3: { create: createMp3Encoder, contentType: 'audio/mpeg' },
} as const

/** The audio formats that speech is made in. */
export type SpeechFormat = keyof typeof ENCODERS

export const SPEECH_FORMATS = Object.keys(ENCODERS) as readonly SpeechFormat[]

/** A synthesized speech. */
export interface Speech {
  /** The audio, one piece a second; the first piece begins with the header. */
  readonly pieces: readonly Uint8Array<ArrayBuffer>[]
  readonly contentType: string
  readonly seconds: number
}

/** Returns the content type of a format. */
export function contentTypeOf(format: SpeechFormat): string {
  return ENCODERS[format].contentType
}

/**
 * Synthesizes a text. Equal inputs give equal bytes on every machine.
 *
 * @example
 * synthesizeSpeech(world.chance, { text: 'Hello.', model: 'acme/voice', voice: 'ada', speed: 1 }, 'wav').seconds // 0.408
 */
export function synthesizeSpeech(chance: Chance, speech: SpeechText, format: SpeechFormat): Speech {
  const plan = planSpeech(chance, speech)
  const frames = plan.loudness.length
  const { create, contentType } = ENCODERS[format]
  const { header, maxFrameBytes, createWriter } = create()
  const write = createWriter(plan)
  const pieces: Uint8Array<ArrayBuffer>[] = []
  for (let frame = 0; frame < frames; ) {
    const start = frame === 0 ? header(frames) : new Uint8Array(0)
    const end = Math.min(frames, frame + PIECE_FRAMES)
    const piece = new Uint8Array(start.length + (end - frame) * maxFrameBytes)
    piece.set(start)
    let length = start.length
    for (; frame < end; frame++) length = write(piece, length)
    pieces.push(length === piece.length ? piece : piece.slice(0, length))
  }
  return { pieces, contentType, seconds: toSeconds(frames) }
}
