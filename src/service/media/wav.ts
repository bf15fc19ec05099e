/** WAV and raw PCM: 16 bits, one channel, little-endian. */
import { Oscillator } from './oscillator.ts'
import { FRAME_SAMPLES, SAMPLE_RATE, type SpeechEncoder } from './speech-plan.ts'

const FRAME_BYTES = FRAME_SAMPLES * 2

/** Creates the encoder of raw samples. */
export function createPcmEncoder(): SpeechEncoder {
  return {
    header: () => new Uint8Array(0),
    maxFrameBytes: FRAME_BYTES,
    createWriter: plan => {
      const oscillator = new Oscillator(plan)
      return (out, offset) => {
        const samples = oscillator.next()
        let at = offset
        for (let i = 0; i < FRAME_SAMPLES; i++) {
          const sample = samples[i]!
          out[at++] = sample & 0xff
          out[at++] = (sample >> 8) & 0xff
        }
        return at
      }
    },
  }
}

/** Creates the encoder of WAV: a header of 44 bytes before the samples. */
export function createWavEncoder(): SpeechEncoder {
  return { ...createPcmEncoder(), header: createHeader }
}

function createHeader(frames: number): Uint8Array {
  const header = new Uint8Array(44)
  const view = new DataView(header.buffer)
  const writeText = (offset: number, text: string) => {
    for (let i = 0; i < text.length; i++) header[offset + i] = text.charCodeAt(i)
  }
  const dataBytes = frames * FRAME_BYTES
  writeText(0, 'RIFF')
  view.setUint32(4, 36 + dataBytes, true)
  writeText(8, 'WAVEfmt ')
  view.setUint32(16, 16, true)
  // PCM, one channel.
  view.setUint16(20, 1, true)
  view.setUint16(22, 1, true)
  view.setUint32(24, SAMPLE_RATE, true)
  view.setUint32(28, SAMPLE_RATE * 2, true)
  view.setUint16(32, 2, true)
  view.setUint16(34, 16, true)
  writeText(36, 'data')
  view.setUint32(40, dataBytes, true)
  return header
}
