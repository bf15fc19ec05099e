import { scenario } from 'modelhost-sim/scenario'

const model = 'acme/voice'
const text = 'The rain ends before midnight, and the wind turns to the north. Tomorrow is dry and cold. '.repeat(8)
const voice = { voice_id: 'voice_k7RtWq2mXb4Hn9ZpGam4zyNb', user_id: 'acme', name: 'Ada', description: '' }

export default scenario(
  'a node dies in the middle of a streamed speech, and the client finds the audio too short',
  {
    fixtures: 'two-nodes',
    seed: 117,
    inferencePace: 'clock',
    with: {
      deployments: [
        { model_name: model, task: 'text-to-speech', num_gpus: 8, settings: { min_instances: 2, max_instances: 2 } },
      ],
      voices: [{ ...voice, created_at: 1_767_000_000, updated_at: 1_767_000_000 }],
    },
    tags: ['inference', 'audio', 'faults'],
    teaches:
      'The header of a WAV file states its whole length before the speech is made. If the instance is lost, the stream ends early, with status 200.',
    client:
      'Compares the length of the audio with its header, throws away a shorter one, and asks again. It transcribes only whole files.',
  },
  async ({ api, clock, cluster, fetch, baseUrl, token, check, countOf, ledger }) => {
    const [deployed] = await api.listDeployments()
    const { deploy_id } = deployed!
    check(deployed, { status: 'running', task: 'text-to-speech', instances: { running: 2 } })

    /** Reads a speech to its end, or as far as it comes. */
    const streamed = async (onPiece: (nth: number) => unknown): Promise<Uint8Array<ArrayBuffer>> => {
      const answer = await fetch(`${baseUrl}/v1/text-to-speech/${voice.voice_id}/stream`, {
        method: 'POST',
        headers: { authorization: `Bearer ${token}` },
        body: JSON.stringify({ text, model_id: model }),
      })
      check([answer.status, answer.headers.get('content-type')], [200, 'audio/wav'])
      const pieces: Uint8Array[] = []
      const reader = answer.body!.getReader()
      try {
        for (let piece = await reader.read(); !piece.done; piece = await reader.read()) {
          pieces.push(piece.value)
          await onPiece(pieces.length)
        }
      } catch (error) {
        if (!(error as { broken?: boolean }).broken) throw error
      }
      const audio = new Uint8Array(pieces.reduce((sum, { length }) => sum + length, 0))
      let offset = 0
      for (const piece of pieces) {
        audio.set(piece, offset)
        offset += piece.length
      }
      return audio
    }
    /** Returns the seconds that the header of a WAV file states, and those that are there. */
    const secondsOf = (audio: Uint8Array<ArrayBuffer>) => {
      const bytesPerSecond = 48_000
      const stated = new DataView(audio.buffer).getUint32(40, true) / bytesPerSecond
      return { stated, present: (audio.length - 44) / bytesPerSecond }
    }

    const cut = await streamed(async nth => {
      if (nth === 10) await cluster.nodeOf(deploy_id).crash()
    })
    check(secondsOf(cut), { stated: 48, present: 10.08 }, 'ten pieces of 1.008 seconds came')
    await countOf('inference.broken', 1)

    const whole = await streamed(() => {})
    check(secondsOf(whole), { stated: 48, present: 48 }, 'another instance makes all of it')
    check(
      whole.subarray(0, cut.length).every((byte, index) => byte === cut[index]),
      true,
      'and begins with the same bytes',
    )

    const scribe = 'larkspur-audio/lark-scribe-turbo'
    const transcript = api.createTranscription({ model: scribe, file: whole, response_format: 'verbose_json' })
    await clock.advance('1m')
    check(await transcript, { task: 'transcribe', duration: 48, usage: { seconds: 48 } })
    const charges = (await ledger.entries()).filter(({ kind }) => kind === 'units')
    check(charges, [{ subject: scribe, units: 48, microcents: -15_840 }], 'the own deployment costs its time alone')
  },
)
