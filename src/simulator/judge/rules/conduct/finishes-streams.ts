import { formatDuration } from '../../../../kernel/duration.ts'
import { requestEvidence, violationAt } from '../../facts.ts'
import { defineRule } from '../../rule.ts'
import { formatSince, nameRequest, startSentence } from '../../words.ts'

/**
 * The client reads each stream to its end. A stream that it leaves is charged up to there. A connection that a fault broke
 * was not left by the client.
 */
export const finishesStreams = defineRule({
  summary: 'The client reads each stream to its end.',
  advice:
    'Ask for fewer tokens with max_tokens, or read the stream to its end. If your client cancels on purpose, turn this rule off.',
  detail:
    'A request with `stream: true` counts if the client cancelled its body, but not if a fault broke the connection. With the pace `instant`, an answer is complete before a client can leave it. If this rule is on in `explore`, answers to a flow take their time. Answers to a command are always instant there.',
  source:
    'Opinion of modelhost-sim: tokens that are not read are charged all the same, and keep a place on an instance.',
  place: 'operation',
  check(conduct) {
    const { requests, sim } = conduct
    const streams = new Map(requests.filter(isStream).map(request => [request.seq, request]))
    if (streams.size === 0) return []
    return sim.journal.entries().flatMap(entry => {
      const request = entry.kind === 'inference.left' ? streams.get(entry.cause) : undefined
      if (request === undefined || request.fault !== undefined) return []
      const { completion_tokens: tokens } = entry.fields ?? {}
      const sent = typeof tokens === 'number' ? ` after ${tokens} ${tokens === 1 ? 'token' : 'tokens'}` : ''
      const words =
        `${startSentence(nameRequest(request))}, sent ${formatSince(conduct, request.sentAt)} after the start, is a ` +
        `stream. The client left it${sent}, ${formatDuration(Math.max(0, entry.time - request.sentAt))} after it had asked.`
      return [
        violationAt(request, words, {
          subject: entry.subject,
          evidence: [...requestEvidence(request), { kind: 'entry' as const, entry }],
        }),
      ]
    })
  },
})

function isStream({ body, seq }: { readonly body: unknown; readonly seq?: number | undefined }): boolean {
  return (
    seq !== undefined && typeof body === 'object' && body !== null && (body as { stream?: unknown }).stream === true
  )
}
