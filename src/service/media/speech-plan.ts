/** The plan of a spoken text: what each frame of its audio sounds like. Every audio format is made from one plan. */
import { type Chance, type EntityKey, hash32, purpose } from '../../kernel/random.ts'

/** Samples per second of all speech. */
export const SAMPLE_RATE = 24_000
/** Samples of one frame: 24 ms, as in MP3 at this rate. All speech is a whole number of frames. */
export const FRAME_SAMPLES = 576
export const FRAME_SECONDS = FRAME_SAMPLES / SAMPLE_RATE
/** Characters that are spoken in one second at speed 1. */
const CHARACTERS_PER_SECOND = 15
/** The largest loudness of a frame. It leaves room for the harmonics of a voice. */
export const MAX_LOUDNESS = 255
export const HARMONICS = 4

const PITCH = purpose('speech.pitch')
const TIMBRE = purpose('speech.timbre')
const MELODY = purpose('speech.melody')

/** What a text sounds like. Equal values give equal audio with the same seed. */
export interface SpeechText {
  readonly text: string
  /** The full name of the model. */
  readonly model: string
  /** The id or the name of the voice. */
  readonly voice: string
  /** 0.25 to 4; 2 takes half as long as 1. */
  readonly speed: number
}

/** A planned speech. Frame `i` glides from the loudness of frame `i - 1` to its own. */
export interface SpeechPlan {
  /** The pitch of each frame in hertz. */
  readonly pitches: Uint16Array
  /** The loudness of each frame; 0 is silence. */
  readonly loudness: Uint8Array
  /** Relative weights of the fundamental tone and its harmonics. */
  readonly timbre: readonly number[]
}

/** Writes the frames of one speech in an audio format. */
export interface SpeechEncoder {
  /** Returns the bytes before the first frame. */
  readonly header: (frames: number) => Uint8Array
  readonly maxFrameBytes: number
  /** Returns a function that writes the next frame at an offset and returns the offset behind it. */
  readonly createWriter: (plan: SpeechPlan) => (out: Uint8Array, offset: number) => number
}

/** Returns how many frames a text takes. An empty text takes one. */
export function speechFrames(characters: number, speed: number): number {
  // Rounded first, because the product of a speed and 0.024 has binary noise.
  const frames = characters / (CHARACTERS_PER_SECOND * speed * FRAME_SECONDS)
  return Math.max(1, Math.ceil(Number(frames.toFixed(6))))
}

/** Returns the seconds that a text takes: about 15 characters a second, in whole frames of 24 ms. */
export function speechSeconds(characters: number, speed: number): number {
  return toSeconds(speechFrames(characters, speed))
}

/** Returns the seconds of so many frames, without binary noise. */
export function toSeconds(frames: number): number {
  return (frames * FRAME_SAMPLES) / SAMPLE_RATE
}

/** Frames of one piece of a streamed speech: about a second. */
export const PIECE_FRAMES = 42

/** Returns how many pieces so many frames come in. */
export function speechPieces(frames: number): number {
  return Math.ceil(frames / PIECE_FRAMES)
}

/** Plans a text: letters sound, vowels louder than others; spaces and punctuation are silent. */
export function planSpeech(chance: Chance, { text, model, voice, speed }: SpeechText): SpeechPlan {
  const characters = [...text]
  const frames = speechFrames(characters.length, speed)
  const voiceKey = chance.key('speech-voice', voice)
  const base = 90 + chance.integer(150, voiceKey, PITCH)
  const textKey = chance.key('speech', `${model}\u0000${voice}\u0000${text}`)
  const pitches = new Uint16Array(frames)
  const loudness = new Uint8Array(frames)
  const steps = drawMelody(chance, textKey, characters.length)
  for (let frame = 0; frame < frames; frame++) {
    const index = Math.min(characters.length - 1, Math.floor((frame * characters.length) / frames))
    const character = characters[index] ?? ' '
    pitches[frame] = base + Math.floor((base * (steps[index] ?? 0)) / 16)
    loudness[frame] = loudnessOf(character)
  }
  return { pitches, loudness, timbre: drawTimbre(chance, voiceKey) }
}

/** Returns the step of each character above the base pitch, in sixteenths of it. */
function drawMelody(chance: Chance, key: EntityKey, length: number): Uint8Array {
  const steps = new Uint8Array(length)
  let state = hash32(chance.hex(8, key, MELODY)) | 1
  for (let i = 0; i < length; i++) {
    state ^= state << 13
    state ^= state >>> 17
    state ^= state << 5
    steps[i] = (state >>> 8) & 7
  }
  return steps
}

function drawTimbre(chance: Chance, key: EntityKey): readonly number[] {
  return Array.from({ length: HARMONICS }, (_, index) =>
    index === 0 ? 16 : Math.floor((4 + chance.integer(12, key, TIMBRE, index)) / index),
  )
}

function loudnessOf(character: string): number {
  if (/[aeiouyáéíóúàèìòùäëïöüâêîôû]/i.test(character)) return MAX_LOUDNESS
  return /[\p{L}\p{N}]/u.test(character) ? 120 : 0
}
