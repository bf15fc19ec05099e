import { scenario } from 'modelhost-sim/scenario'

const model = 'acme/chat'

export default scenario(
  'a node dies in the middle of a streamed answer, and the client asks again',
  {
    fixtures: 'two-nodes',
    seed: 114,
    inferencePace: 'clock',
    with: { deployments: [{ model_name: model, num_gpus: 8, settings: { min_instances: 2, max_instances: 2 } }] },
    // One request of this client at a time: what breaks off must have given its place back.
    profile: { extends: 'realistic', limits: { requests_in_flight: 1 } },
    tags: ['inference', 'faults'],
    teaches:
      'A stream whose instance is lost ends in the middle of the text, without [DONE]. Its status 200 was sent before. Asked again, another instance answers the whole text.',
    client:
      'Counts a stream as whole only at [DONE]. Throws away what came of a stream that broke off, and asks again from the start.',
  },
  async ({ api, clock, cluster, fetch, baseUrl, token, ledger, check, countOf }) => {
    const [deployed] = await api.listDeployments()
    const { deploy_id } = deployed!
    check(deployed, { status: 'running', instances: { running: 2 } })

    let crashedAt = 0
    const crash = async () => {
      crashedAt = clock.elapsed
      await cluster.nodeOf(deploy_id).crash()
    }
    const parts: string[] = []
    /** Reads an answer to its end; undefined for one that broke off. */
    const streamed = async (onToken: (nth: number) => unknown): Promise<string | undefined> => {
      const answer = await fetch(`${baseUrl}/v1/chat/completions`, {
        method: 'POST',
        headers: { authorization: `Bearer ${token}` },
        body: JSON.stringify({ model, stream: true, messages: [{ role: 'user', content: 'Tell me about rivers.' }] }),
      })
      check(answer.status, 200)
      const reader = answer.body!.pipeThrough(new TextDecoderStream()).getReader()
      let [text, tokens, rest] = ['', 0, '']
      try {
        for (let piece = await reader.read(); !piece.done; piece = await reader.read()) {
          const events = `${rest}${piece.value}`.split('\n\n')
          rest = events.pop()!
          for (const data of events.map(event => event.slice('data: '.length))) {
            if (data === '[DONE]') return text
            const said: string = JSON.parse(data).choices[0].delta.content ?? ''
            text += said
            if (said !== '') await onToken(++tokens)
          }
        }
      } catch (error) {
        if (!(error as { broken?: boolean }).broken) throw error
      }
      parts.push(text)
      return undefined
    }

    const first = await streamed(async nth => {
      if (nth === 3) await crash()
    })
    check(first, undefined, 'it broke off')
    check(parts, [/^\S+ \S+ \S+$/], 'after the three words that had come')
    check(await api.getDeployment({ deploy_id }), { status: 'running', instances: { running: 1, pending: 1 } })
    await countOf('inference.broken', 1)

    const again = clock.elapsed
    const whole = (await streamed(() => {}))!
    check(whole.startsWith(parts[0]!) && whole.length > parts[0]!.length, true, 'all of it, from its beginning')
    check(clock.elapsed - again < 30_000_000, true, 'without a cold start')
    check(await cluster.nodeOf(deploy_id).view(), { name: 'h100-1', state: 'ready' })

    await clock.advance('1m')
    check(await api.getDeploymentStats({ deploy_id, from: 'now-1h' }), { requests: 2, errors: 1 })
    check(await ledger.rentSeconds(deploy_id), Math.floor((crashedAt + clock.elapsed) / 1e6), 'billed to the crash')
    check(
      (await ledger.entries()).every(({ kind }) => kind !== 'tokens'),
      true,
      'an own deployment costs its time alone',
    )
  },
)
