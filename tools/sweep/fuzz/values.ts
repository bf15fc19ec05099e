/** Texts that requests are made of: values of the world by the name of their field, and texts that break parsers. */
import fc from 'fast-check'

/** Values of each field that are kept. The newest replace older ones. */
const MAX_VALUES = 60

/** Fields that take the values of other fields. */
const SAME_AS: Readonly<Record<string, readonly string[]>> = {
  batch_id: ['id'],
  file_id: ['id'],
  input_file_id: ['id'],
  model: ['model_name'],
  base_model: ['model_name', 'repo'],
  gpu_type: ['gpu'],
  ssh_key_id: ['ssh_key_id', 'id'],
  variantKey: ['variant'],
  version: ['versions', 'version', 'ALL'],
}

/** Values of a world by the name of their field. Values of deleted things stay, so requests name those as well. */
export class KnownValues {
  /** The token of the account. */
  token: string
  /** The newest exported snapshot. */
  exported: Uint8Array | undefined
  readonly #values = new Map<string, string[]>([['ALL', Array(40).fill('ALL')]])

  constructor(token: string) {
    this.token = token
  }

  /** Forgets everything, for a new world. */
  reset(token: string): void {
    this.token = token
    this.exported = undefined
    this.#values.clear()
    this.set('ALL', ['ALL'])
  }

  /** Adds every short text of a JSON value under the name of its field. */
  collect(value: unknown, name = ''): void {
    if (typeof value === 'object' && value !== null) {
      for (const [key, inner] of Object.entries(value)) this.collect(inner, Array.isArray(value) ? name : key)
    } else if (typeof value === 'string' && value.length < 60) {
      this.add(name, value)
    }
  }

  /** Adds a value, unless the field has it. */
  add(name: string, value: string): void {
    const values = this.#values.get(name)
    if (values === undefined) this.#values.set(name, [value])
    else if (!values.includes(value)) {
      if (values.length >= MAX_VALUES) values.shift()
      values.push(value)
    }
  }

  set(name: string, values: readonly string[]): void {
    this.#values.set(name, [...values])
  }

  /** Returns the values of a field. */
  get(name: string): readonly string[] {
    return this.#values.get(name) ?? []
  }

  /** Returns one of the values that a field can have; `draw` is any integer of at least 0. */
  pick(name: string, draw: number): string {
    const lists = (SAME_AS[name] ?? [name]).map(one => this.get(one))
    const count = lists.reduce((sum, list) => sum + list.length, 0)
    if (count === 0) return draw % 2 === 0 ? 'default' : 'some/text'
    let nth = draw % count
    for (const list of lists) {
      if (nth < list.length) return list[nth]!
      nth -= list.length
    }
    return ''
  }
}

/** Generates values that the field has in the world at that moment. */
export function knownAs(known: KnownValues, name: string): fc.Arbitrary<string> {
  return fc.nat().map(draw => known.pick(name, draw))
}

const NASTY = [
  '',
  ' ',
  '.',
  '..',
  '/',
  '//',
  '%',
  '%2F',
  '%2f..%2f',
  '%zz',
  '%00',
  '%ff',
  '%F0%9F%A6%99',
  '\u0000',
  'ü🦙',
  '__proto__',
  'constructor',
  'null',
  'undefined',
  'NaN',
  '-1',
  '1e9',
  '9007199254740993',
  '1,2',
  ',',
  'x'.repeat(4_000),
]
/** Generates texts that break parsers. */
export const nasty = fc.oneof(fc.constantFrom(...NASTY), fc.string({ maxLength: 12, unit: 'binary' }))

/** Generates printable texts for headers. */
export const headerText = fc.string({ maxLength: 20 }).map(text => text.replaceAll(/[^\x20-\x7e]/g, ''))
