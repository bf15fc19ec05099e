import { z } from 'zod'
import { Deferred, endpoint } from './endpoint.ts'
import { eventStream, type Frame } from './event-stream.ts'
import { text } from './fields.ts'
import { boundsOf, INFERENCE_REFUSALS, requestHash, started, takeOn, Usage, usageOf, whole } from './inference.ts'
import { type Reply, replyKey, scriptedReply, wordsReply } from './replies.ts'
import { Sampling } from './sampling.ts'
import { countTokens } from './tokenizer.ts'

const MOST_PROMPTS = 128

const Choice = z.object({
  index: z.int(),
  text: z.string(),
  logprobs: z.null(),
  finish_reason: z.enum(['stop', 'length']),
})

const head = { id: z.string(), object: z.literal('text_completion'), created: z.int(), model: z.string() }

const Completion = z.object({ ...head, choices: z.array(Choice), usage: Usage }).meta({ id: 'Completion' })

const CompletionChunk = z
  .object({
    ...head,
    choices: z.array(Choice.extend({ finish_reason: Choice.shape.finish_reason.nullable() })),
    usage: Usage.nullable().optional(),
  })
  .meta({ id: 'CompletionChunk' })

export const createCompletion = endpoint({
  route: 'POST /v1/completions',
  mirrored: true,
  summary: 'Go on with a text',
  provenance: 'neighbour',
  assumed: [
    'model as in POST /v1/chat/completions; the same prompt has the same answer, whole, streamed and in a batch',
    `prompt is a text, or up to ${MOST_PROMPTS} of them: n answers to the first, then n to the second`,
    'echo puts the prompt before its answer; suffix, best_of and what POST /v1/chat/completions lists change nothing',
    'logprobs are not offered: a number is 422',
  ],
  refusals: INFERENCE_REFUSALS,
  alt: true,
  needs: ['tokenizer'],
  body: z.object({
    model: text({ min: 1 }),
    prompt: z.union([text(), z.array(text()).min(1).max(MOST_PROMPTS)]),
    ...Sampling,
    echo: z.boolean().nullable().optional(),
    suffix: text().nullable().optional(),
    best_of: Sampling.n,
    logprobs: z.null().optional(),
  }),
  returns: Completion,
  streams: CompletionChunk,
  example: { body: { model: 'acme/assistant', prompt: 'Once upon a time' } },
  handle: ({ body, world, token, request, scripted }) => {
    const { model, prompt } = body
    const prompts = typeof prompt === 'string' ? [prompt] : prompt
    const counts = prompts.map(one => countTokens(one))
    const promptTokens = counts.reduce((sum, count) => sum + count, 0)
    const each = body.n ?? 1
    const keys = prompts.flatMap(one =>
      Array.from({ length: each }, (_, nth) => replyKey(world.chance, model, JSON.stringify(one), nth)),
    )
    let replies: Reply[] = []
    const longestPrompt = Math.max(...counts)
    const { call, longest } = takeOn(world, token, model, 'text-generation', longestPrompt, context => {
      const bounds = boundsOf(body.max_tokens, context - longestPrompt, body.stop)
      const given = scripted(model, prompts.at(-1)!)
      replies = keys.map(key =>
        given === undefined || 'toolCall' in given
          ? wordsReply(world.chance, key, bounds)
          : scriptedReply(world.chance, key, given, bounds),
      )
      return {
        ...{ prefix: 'cmpl-', hash: requestHash(model, JSON.stringify(prompt)), promptTokens },
        answerTokens: replies.reduce((sum, { tokens }) => sum + tokens, 0),
        longestAnswer: Math.max(...replies.map(({ tokens }) => tokens)),
      }
    })
    const { signal } = request
    const opened = { id: call.id, object: 'text_completion' as const, created: world.clock.unix(), model }
    const usage = usageOf(promptTokens, replies)
    const echoes = body.echo ? replies.map((_, index) => prompts[Math.floor(index / each)]!) : replies.map(() => '')
    if (!body.stream) {
      return new Deferred(patience =>
        whole(world, call, longest, patience, signal, () => ({
          ...opened,
          choices: replies.map((reply, index) => ({
            ...{ index, text: echoes[index]! + reply.text, logprobs: null },
            finish_reason: reply.finish_reason as 'stop' | 'length',
          })),
          usage,
        })),
      )
    }
    const includesUsage = body.stream_options?.include_usage === true
    return new Deferred<never>(async patience => {
      await started(world, call, patience, signal)
      const frames = framesOf(opened, replies, echoes, includesUsage ? usage : undefined)
      return eventStream({ world, call, key: keys[0]!, longest, patience, signal, frames })
    })
  },
})

function* framesOf(
  opened: Readonly<Record<string, string | number>>,
  replies: readonly Reply[],
  echoes: readonly string[],
  usage: z.output<typeof Usage> | undefined,
): Generator<Frame> {
  const open = JSON.stringify(opened).slice(0, -1)
  const tail = usage === undefined ? '' : ',"usage":null'
  const event = (index: number, piece: string, finish: string) =>
    `${open},"choices":[{"index":${index},"text":${JSON.stringify(piece)},"logprobs":null,"finish_reason":${finish}}]${tail}}`
  for (const [index, echo] of echoes.entries()) if (echo !== '') yield { token: -1, data: event(index, echo, 'null') }
  const lines = replies.map(reply => reply.pieces())
  const longest = Math.max(...lines.map(pieces => pieces.length))
  for (let token = 0; token < longest; token++) {
    for (const [index, pieces] of lines.entries()) {
      if (token < pieces.length) yield { token, data: event(index, pieces[token]!, 'null') }
    }
  }
  const last = Math.max(0, longest - 1)
  for (const [index, { finish_reason }] of replies.entries()) {
    yield { token: last, data: event(index, '', JSON.stringify(finish_reason)) }
  }
  if (usage !== undefined) yield { token: last, data: `${open},"choices":[],"usage":${JSON.stringify(usage)}}` }
  yield { token: last, data: '[DONE]' }
}
