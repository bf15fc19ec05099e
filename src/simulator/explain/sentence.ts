/** The words of sentences about journal entries. */

import type { Entry, EntryFields } from '../../kernel/journal.ts'
import { hideSecrets } from '../../lib/text/secrets.ts'

/** A text with the subject as `{id}` and fields as `{name}`, or a function of the entry. */
export type Sentence = string | ((entry: Entry) => string)

/** The longest text that a sentence repeats, in characters. */
const MAX_QUOTED = 160
/** Values that need no quotes: ids, names and numbers. */
const PLAIN = /^[\p{L}\p{N}_][\p{L}\p{N}_./:@+-]{0,79}$/u

/** Formats a value of an entry: an id or a number as it is, another text in quotes and cut to 160 characters. */
export function formatValue(value: unknown): string {
  const text = String(value)
  // A dot at its end would end the sentence.
  return PLAIN.test(text) && !/[.:]$/.test(text) ? text : quoteText(text)
}

/** Quotes a text of a client or of the service, cut to 160 characters. */
export function quoteText(text: string): string {
  const flat = hideSecrets(text).replaceAll(/\s+/g, ' ').replaceAll("'", '’')
  return `'${flat.length > MAX_QUOTED ? `${flat.slice(0, MAX_QUOTED)}…` : flat}'`
}

/** Formats a number of things, as in `1 GPU` and `2 GPUs`. */
export function formatNumberOf(count: unknown, noun: string): string {
  return `${formatValue(count)} ${noun}${Number(count) === 1 ? '' : 's'}`
}

/** Returns the sentence of an entry. In its text, `{lines line}` is the number of lines with their noun. */
export function fillSentence(sentence: Sentence, entry: Entry): string {
  if (typeof sentence === 'function') return sentence(entry)
  return sentence.replaceAll(/\{(\w+)(?: (\w+))?\}/g, (_, name: string, noun: string | undefined) => {
    const value = name === 'id' ? entry.subject : entry.fields?.[name]
    return noun === undefined ? formatValue(value) : formatNumberOf(value, noun)
  })
}

/** Returns a sentence that names the field `reason`, if the entry has one. */
export function withReason(sentence: string): Sentence {
  return entry => {
    const { reason } = (entry.fields ?? {}) as EntryFields
    const filled = fillSentence(sentence, entry)
    return reason === undefined || reason === '' ? filled : `${filled} The reason is ${quoteText(String(reason))}.`
  }
}

/** Returns one of two sentences, by whether a field has a value. */
export function byField(name: string, value: unknown, yes: string, no: string): Sentence {
  return entry => fillSentence(entry.fields?.[name] === value ? yes : no, entry)
}

/** Formats cents as US dollars, as in `$12.50`. */
export function formatCents(cents: unknown): string {
  return `$${(Number(cents) / 100).toFixed(2)}`
}

/** Returns a sentence whose field is an amount in cents. `{amount}` is its place. */
export function withAmount(sentence: string, field = 'cents'): Sentence {
  return entry => fillSentence(sentence.replace('{amount}', formatCents(entry.fields?.[field])), entry)
}

/** The verbs of sentences about entries, and their base forms. */
const BASE_FORMS: Readonly<Record<string, string>> = Object.fromEntries(
  (
    'was be, were be, is be, are be, has have, had have, began begin, ended end, ends end, became become, got get, gets get, ' +
    'gave give, left leave, moved move, stopped stop, stops stop, failed fail, wants want, came come, asks ask, ' +
    'crashed crash, changed change, needed need, waits wait, serves serve, takes take, took take, released release, ' +
    'exited exit, broke break, passed pass, runs run, writes write, expired expire, starts start, requested request, ' +
    'paid pay, declined decline, declines decline, fell fall, removed remove, went go, works work, answers answer, ' +
    'accepts accept, does do, added add, asked ask, disconnected disconnect, deleted delete, suspended suspend, ' +
    'sent send, revoked revoke, restored restore, made make, signed sign, created create, lost lose, acted act, ' +
    'started start, updated update, edited edit, take take, have have, leave leave, found find, set set, reached reach, ' +
    'gives give'
  )
    .split(', ')
    .map(pair => [pair.slice(0, pair.indexOf(' ')), pair.slice(pair.indexOf(' ') + 1)]),
)
/** A verb outside of quotes and names, participles left out. */
const VERB = new RegExp(
  String.raw`'[^']*'|(?<!\b(?:was|were|is|are|be|been|being|has|had) )(?<![\w./-])(?:${Object.keys(BASE_FORMS).join('|')})(?![\w/-])`,
  'g',
)

/** Puts a sentence about an entry into the future tense. What follows the sentence is left out. */
export function toFuture(sentence: string): string {
  const [first] = /^.*?\.(?= |$)/.exec(sentence) ?? [sentence]
  return first.replace(VERB, verb => (verb in BASE_FORMS ? `will ${BASE_FORMS[verb]}` : verb))
}
