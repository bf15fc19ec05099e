/** The contents of answers: the texts and numbers in them, and what one can count. */

import { decodeBase64 } from '../../../lib/bytes.ts'
import { attempt } from '../../../lib/errors.ts'
import { tryParseJson } from '../../../lib/json-text.ts'
import type { AnswerBody } from './answer-body.ts'

/** What is in one or more answers. Texts are normalised. */
export interface Contents {
  readonly texts: Set<string>
  readonly numbers: Set<number>
  /** The names of all fields. */
  readonly fields: Set<string>
}

/** Returns contents without anything in them. */
export function noContents(): Contents {
  return { texts: new Set(), numbers: new Set(), fields: new Set() }
}

/** Adds contents to others. */
export function joinContents(all: Contents, more: Contents): void {
  for (const text of more.texts) all.texts.add(text)
  for (const number of more.numbers) all.numbers.add(number)
  for (const field of more.fields) all.fields.add(field)
}

/** Makes texts of two runs comparable: their case, white space and ids do not count. */
export type Normalise = (text: string) => string

/** Words that can be ids. */
const ID_WORD = /[A-Za-z0-9_-]{6,}/g
const BASE64 = /^[A-Za-z0-9+/]{64,}={0,2}$/
/** Lists of so many numbers are one content, as an embedding is. */
const VECTOR_LENGTH = 8
const MAX_DEPTH = 20
/** Characters of the shortest text whose length, words and lines a client may return. */
export const LEAST_COUNTED = 12

/** @param ids the ids that differ between runs */
export function normaliserOf(ids: ReadonlyMap<string, string>): Normalise {
  return text =>
    maskIds(text, ids, () => '#')
      .toLowerCase()
      .replace(/\s+/g, ' ')
      .trim()
}

/** Replaces ids in a text. */
export function maskIds(
  text: string,
  ids: ReadonlyMap<string, string>,
  replace: (label: string) => string = label => label,
): string {
  if (ids.size === 0) return text
  return text.replace(ID_WORD, word => (ids.has(word) ? replace(ids.get(word)!) : word))
}

/** Tells whether a list is one content: a vector. */
export function isVector(value: unknown): value is readonly number[] {
  return Array.isArray(value) && value.length >= VECTOR_LENGTH && value.every(one => typeof one === 'number')
}

/** Adds the contents of a body. */
export function addContents(contents: Contents, body: AnswerBody, normalise: Normalise): void {
  const { text } = body
  const adder = new Adder(contents, normalise)
  adder.addText(text)
  if (body.isEvents) adder.addEvents(text)
  else {
    const value = tryParseJson(text)
    if (value !== undefined) adder.addValue(value)
    else adder.addLines(text)
  }
}

class Adder {
  readonly #contents: Contents
  readonly #normalise: Normalise

  constructor(contents: Contents, normalise: Normalise) {
    this.#contents = contents
    this.#normalise = normalise
  }

  addText(text: string): void {
    const { texts, numbers } = this.#contents
    texts.add(this.#normalise(text))
    // Small numbers of a result are counts of something else.
    if (text.length < LEAST_COUNTED) return
    const words = text.split(/\s+/).filter(word => word !== '').length
    const lines = text.split('\n').filter(line => line.trim() !== '').length
    for (const count of [text.length, Buffer.byteLength(text), words, lines]) numbers.add(count)
    if (BASE64.test(text)) numbers.add(attempt(() => decodeBase64(text).length) ?? text.length)
  }

  /** Adds each value in a value of JSON. A text that is JSON has values too, such as the arguments of a tool. */
  addValue(value: unknown, depth = 0): void {
    if (typeof value === 'number') this.#contents.numbers.add(value)
    else if (typeof value === 'string') {
      this.addText(value)
      const inner = /^[[{]/.test(value) ? tryParseJson(value) : undefined
      if (inner !== undefined) this.addValue(inner, depth + 1)
    } else if (typeof value === 'object' && value !== null && depth < MAX_DEPTH) {
      if (Array.isArray(value)) this.#contents.numbers.add(value.length)
      else for (const name of Object.keys(value)) this.#contents.fields.add(name)
      if (isVector(value)) this.#contents.texts.add(JSON.stringify(value))
      else for (const child of Object.values(value)) this.addValue(child, depth + 1)
    }
  }

  /** Adds the rows of a file, if its lines are JSON. */
  addLines(text: string): void {
    const rows = text.split('\n').flatMap(line => tryParseJson(line) ?? [])
    for (const row of rows) this.addValue(row)
    this.#contents.numbers.add(rows.length)
  }

  /** Adds the events of a stream, and the texts that its deltas make together. */
  addEvents(text: string): void {
    const events = [...text.matchAll(/^data: ?(.*)$/gm)].flatMap(([, data]) => tryParseJson(data!) ?? [])
    const joined = new Map<string, string>()
    const join = (value: unknown, path: string, depth: number): void => {
      if (typeof value === 'string') joined.set(path, (joined.get(path) ?? '') + value)
      else if (typeof value === 'object' && value !== null && depth < MAX_DEPTH) {
        const { index = '' } = value as { readonly index?: unknown }
        for (const [key, child] of Object.entries(value)) join(child, `${path}/${index}/${key}`, depth + 1)
      }
    }
    for (const event of events) {
      this.addValue(event)
      join(event, '', 0)
    }
    for (const whole of joined.values()) this.addValue(whole)
    this.#contents.numbers.add(events.length)
  }
}
