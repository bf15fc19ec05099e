/**
 * Makes `instanceof` of a class accept objects of its other copies: the command line and the library have one each, and a
 * script that the command line runs meets both.
 *
 * @param name names the class in each copy. A bundler can change the name of the class itself.
 */
export function acceptCopies(type: { readonly prototype: object }, name: string): void {
  const mark = Symbol.for(`modelhost-sim.${name}`)
  Object.defineProperty(type.prototype, mark, { value: true })
  Object.defineProperty(type, Symbol.hasInstance, {
    value(this: object, it: unknown) {
      return this === type ? mark in Object(it) : Function.prototype[Symbol.hasInstance].call(this, it)
    },
  })
}
