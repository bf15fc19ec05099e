/** A world with the whole catalog, and how tests send audio to it. */
import type { SimulatorOptions } from '../../../src/simulator/simulator.ts'
import { askTo, formOf, sendTo } from '../../setup/send-to.ts'
import { type OpenaiWorld, openaiWorld } from '../openai/openai-world.ts'

export const SPEECH_MODEL = 'larkspur-audio/lark-tts-2'
export const SCRIBE = 'larkspur-audio/lark-scribe-large'
export const CHAT_MODEL = 'aurora-labs/aurora-8b-instruct'
export const OWN_VOICE = 'acme/voice'
export const OWN_SCRIBE = 'acme/scribe'

export interface AudioWorld extends OpenaiWorld {
  /** Sends JSON, and returns the answer as it is. */
  post(path: string, body: object, signal?: AbortSignal): Promise<Response>
  /** Sends a form with a file, and returns the answer as it is. */
  upload(path: string, file: Uint8Array | string, fields?: Fields, filename?: string): Promise<Response>
  /** Adds a voice to the account. Returns its id. */
  addVoice(name: string): Promise<string>
  /** Charges of requests to models. */
  charges(): object[]
}

/** Text fields of a form. A list is sent as the repeated field `name[]`. */
export type Fields = Readonly<Record<string, string | readonly string[]>>

/** Creates a world with the whole catalog and two deployments for audio. */
export function audioWorld(options: SimulatorOptions = {}): AudioWorld {
  const deployments = [
    { model_name: OWN_VOICE, task: 'text-to-speech', max_batch_size: 1 },
    { model_name: OWN_SCRIBE, task: 'automatic-speech-recognition', max_batch_size: 2 },
  ]
  const one = openaiWorld({ fixtures: 'empty', with: { deployments } as never, ...options })
  const { sim } = one
  const upload: AudioWorld['upload'] = (path, file, fields = {}, filename = 'memo.wav') => {
    const texts = Object.entries(fields).map(([name, value]) => [typeof value === 'string' ? name : `${name}[]`, value])
    const part = new File([file as Uint8Array<ArrayBuffer>], filename)
    return sendTo(sim, `POST ${path}`, formOf({ ...Object.fromEntries(texts), file: part }))
  }
  return {
    ...one,
    upload,
    post: (path, body, signal) => sendTo(sim, `POST ${path}`, body, signal && { signal }),
    addVoice: async name =>
      (await askTo(sim, 'POST /v1/voices/add', formOf({ name, files: new File(['RIFF'], 'sample.wav') }))).body
        .voice_id,
    charges: () => sim.ledger.entries().filter(({ kind }) => kind === 'units' || kind === 'tokens'),
  }
}

/** Returns the message of a refusal on an OpenAI-compatible route or another. */
export async function refusalOf(answer: Response | Promise<Response>): Promise<[number, string]> {
  const { status, body } = await (async () => {
    const response = await answer
    // biome-ignore lint/suspicious/noExplicitAny: whatever the service answers
    return { status: response.status, body: (await response.json()) as any }
  })()
  return [status, body.error?.message ?? body.error ?? body.detail?.[0]?.msg ?? JSON.stringify(body)]
}
