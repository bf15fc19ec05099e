/** The grammar of a stream of messages, and the message that its events give. */
import { expect } from 'vitest'
import type { AnswerBlock, MessageAnswer } from '../../../src/service/messages/message-schema.ts'
import { MessageStreamEvent } from '../../../src/service/messages/message-schema.ts'

/** Which deltas a block may have. */
const DELTAS: Readonly<Record<AnswerBlock['type'], readonly string[]>> = {
  text: ['text_delta'],
  thinking: ['thinking_delta', 'signature_delta'],
  tool_use: ['input_json_delta'],
}

/** Parses the text of a stream. Throws if it has anything but events of one `event` and one `data` line. */
export function parseMessageEvents(text: string): MessageStreamEvent[] {
  expect(text).toMatch(/\n\n$/)
  return text
    .slice(0, -2)
    .split('\n\n')
    .map(block => {
      const [, name, data] = /^event: (\w+)\ndata: (.+)$/.exec(block) ?? expect.fail(`no event: ${block}`)
      const event = MessageStreamEvent.parse(JSON.parse(data!))
      expect(event).toEqual(JSON.parse(data!))
      expect(event.type).toBe(name)
      return event
    })
}

/**
 * Returns the message that the events give. Throws if their order is not that of the protocol: `message_start`, the
 * blocks one after the other, `message_delta`, `message_stop`.
 *
 * @param isCut whether the JSON of a tool's arguments may be incomplete
 */
export function readMessage(events: readonly MessageStreamEvent[], isCut = false): MessageAnswer {
  const [first, ...others] = events
  if (first?.type !== 'message_start') expect.fail(`begins with ${first?.type}`)
  const message = structuredClone(first.message)
  expect(message).toMatchObject({ content: [], stop_reason: null, stop_sequence: null, usage: { output_tokens: 0 } })
  let open: { block: AnswerBlock; json: string; deltas: string[] } | undefined
  let phase: 'blocks' | 'ending' | 'ended' = 'blocks'
  for (const event of others) {
    if (event.type === 'ping') {
      expect(phase).toBe('blocks')
      continue
    }
    if (event.type === 'content_block_start') {
      expect([phase, open, event.index]).toEqual(['blocks', undefined, message.content.length])
      expect(event.content_block).toMatchObject(
        { text: { text: '' }, thinking: { thinking: '', signature: '' }, tool_use: { input: {} } }[
          event.content_block.type
        ],
      )
      open = { block: structuredClone(event.content_block), json: '', deltas: [] }
    } else if (event.type === 'content_block_delta') {
      if (open === undefined) expect.fail('a delta outside a block')
      expect(event.index).toBe(message.content.length)
      const { block } = open
      const { delta } = event
      expect(DELTAS[block.type]).toContain(delta.type)
      // The signature is the last delta of its block.
      expect(open.deltas).not.toContain('signature_delta')
      open.deltas.push(delta.type)
      if (delta.type === 'text_delta' && block.type === 'text') block.text += delta.text
      if (delta.type === 'thinking_delta' && block.type === 'thinking') block.thinking += delta.thinking
      if (delta.type === 'signature_delta' && block.type === 'thinking') block.signature = delta.signature
      if (delta.type === 'input_json_delta') open.json += delta.partial_json
    } else if (event.type === 'content_block_stop') {
      if (open === undefined) expect.fail('the end of no block')
      expect(event.index).toBe(message.content.length)
      const { block, json, deltas } = open
      if (block.type === 'thinking') expect(deltas.at(-1)).toBe('signature_delta')
      if (block.type === 'tool_use') block.input = isCut ? {} : (JSON.parse(json) as Record<string, unknown>)
      message.content.push(block)
      open = undefined
    } else if (event.type === 'message_delta') {
      expect([phase, open]).toEqual(['blocks', undefined])
      Object.assign(message, event.delta, { usage: event.usage })
      phase = 'ending'
    } else if (event.type === 'message_stop') {
      expect(phase).toBe('ending')
      phase = 'ended'
    } else expect.fail(`an event ${event.type}`)
  }
  expect(phase).toBe('ended')
  return message
}
