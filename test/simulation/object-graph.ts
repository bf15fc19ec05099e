import { Session } from 'node:inspector'

/** Reads private fields, which the language hides: a fork or an archive that misses one shows in no other way. */
export class ObjectGraph {
  readonly #session = new Session()
  readonly #held: unknown[] = []

  constructor() {
    this.#session.connect()
    Object.assign(globalThis, { heldObjects: this.#held })
  }

  close(): void {
    this.#session.disconnect()
    Reflect.deleteProperty(globalThis, 'heldObjects')
  }

  /**
   * Returns the paths at which two graphs of objects differ, as in `#parts.0.#table.#count`.
   *
   * @param isSkipped whether a field of a class may differ
   */
  differences(a: object, b: object, isSkipped: (className: string, field: string) => boolean): string[] {
    const paths: string[] = []
    const seen = new Map<object, object>()
    const compare = (one: unknown, other: unknown, path: string): void => {
      if (paths.length > 30 || Object.is(one, other) || typeof one === 'function') return
      if (typeof one !== 'object' || typeof other !== 'object' || one === null || other === null) {
        paths.push(path)
        return
      }
      if (seen.get(one) === other) return
      seen.set(one, other)
      if (one.constructor?.name !== other.constructor?.name) {
        paths.push(`${path}: another class`)
        return
      }
      if (one instanceof Map || one instanceof Set) {
        compare([...one], [...(other as Iterable<unknown>)], path)
        return
      }
      const fields = this.#fieldsOf(one)
      const otherFields = this.#fieldsOf(other)
      for (const name of new Set([...fields.keys(), ...otherFields.keys()])) {
        if (isSkipped(one.constructor?.name ?? '', name)) continue
        compare(fields.get(name), otherFields.get(name), `${path}.${name}`)
      }
    }
    compare(a, b, a.constructor.name)
    return paths
  }

  #fieldsOf(object: object): Map<string, unknown> {
    const fields = new Map<string, unknown>(Object.entries(object))
    if (object.constructor === Object || Array.isArray(object) || ArrayBuffer.isView(object)) return fields
    this.#held[0] = object
    const { objectId } = this.#post('Runtime.evaluate', { expression: 'heldObjects[0]' }).result
    const { privateProperties = [] } = this.#post('Runtime.getProperties', { objectId, ownProperties: true })
    for (const { name, value } of privateProperties) if (value) fields.set(name, this.#valueOf(value))
    return fields
  }

  #valueOf(remote: { type: string; value?: unknown; objectId?: string; unserializableValue?: string }): unknown {
    if (remote.objectId !== undefined) {
      const functionDeclaration = 'function () { heldObjects[1] = this }'
      this.#post('Runtime.callFunctionOn', { objectId: remote.objectId, functionDeclaration })
      return this.#held[1]
    }
    return remote.unserializableValue ?? remote.value
  }

  // biome-ignore lint/suspicious/noExplicitAny: the answers of the inspector have a shape each.
  #post(method: string, params: object): any {
    let answer: unknown
    this.#session.post(method, params, (error, result) => {
      if (error) throw error
      answer = result
    })
    return answer
  }
}
