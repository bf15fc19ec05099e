/** Types of Python for JSON Schemas. */
import * as z from 'zod'

type Schema = z.core.JSONSchema.JSONSchema

const IDENTIFIER = /^[A-Za-z_]\w*$/
const KEYWORDS: ReadonlySet<string> = new Set(['from', 'for', 'with', 'in', 'is', 'not', 'class', 'global', 'None'])

/** Collects the declarations of the objects and long literals of some schemas. Equal ones share the first name. */
export class PythonTypes {
  readonly declarations: string[] = []
  readonly #names = new Map<string, string>()
  readonly #taken = new Set<string>()

  /**
   * Returns the type of the values of a schema.
   *
   * @param name for the object that the schema describes, if it does
   */
  of(schema: z.ZodType, io: 'input' | 'output', name: string): string {
    const { $defs, ...json } = z.toJSONSchema(schema, { io, unrepresentable: 'any' })
    return this.#typeOf(json, name, ($defs ?? {}) as Record<string, Schema>)
  }

  #typeOf(schema: Schema | boolean, name: string, definitions: Record<string, Schema>): string {
    if (typeof schema === 'boolean') return 'Any'
    const { $ref, anyOf, oneOf, enum: values, const: constant, type, items } = schema
    const typeOf = (inner: Schema, suffix: string) => this.#typeOf(inner, name + suffix, definitions)
    if ($ref !== undefined) {
      const id = $ref.replace('#/$defs/', '')
      const { [id]: definition, ...others } = definitions
      // A schema that contains itself has no name here, so its inner values have any type.
      return definition === undefined ? 'Any' : this.#typeOf(definition, name, others)
    }
    const options = (anyOf ?? oneOf) as Schema[] | undefined
    if (options !== undefined) return union(options.map((option, nth) => typeOf(option, nth === 0 ? '' : `${nth + 1}`)))
    if (values !== undefined) return this.#literalOf(values, name)
    if (constant !== undefined) return constant === null ? 'None' : `Literal[${literal(constant)}]`
    if (Array.isArray(type)) return union(type.map(one => typeOf({ ...schema, type: one } as Schema, '')))
    if (type === 'array') {
      return items === undefined || Array.isArray(items) ? 'list[Any]' : `list[${typeOf(items as Schema, 'Item')}]`
    }
    if (type === 'object') return this.#objectOf(schema, name, definitions)
    return type === undefined ? 'Any' : SIMPLE_TYPES[type]!
  }

  #objectOf(schema: Schema, name: string, definitions: Record<string, Schema>): string {
    const { properties = {}, required = [], additionalProperties } = schema
    const entries = Object.entries(properties)
    if (entries.length === 0) {
      const isTyped = typeof additionalProperties === 'object' && Object.keys(additionalProperties).length > 0
      return `dict[str, ${isTyped ? this.#typeOf(additionalProperties as Schema, `${name}Value`, definitions) : 'Any'}]`
    }
    const fields = entries.map(([key, value]) => {
      const type = this.#typeOf(value as Schema, name + pascal(key), definitions)
      return [key, required.includes(key) ? type : `NotRequired[${type}]`] as const
    })
    return this.#declare(JSON.stringify(fields), name, free => declarationOf(free, fields))
  }

  /** Returns the type of some values; of many, the name of its declaration. */
  #literalOf(values: readonly unknown[], name: string): string {
    const words = values.map(literal)
    const line = words.join(', ')
    if (line.length <= 60) return `Literal[${line}]`
    const lines = words.map(word => `    ${word},\n`).join('')
    return this.#declare(line, name, free => `${free} = Literal[\n${lines}]\n`)
  }

  /** Declares a type unless one of equal content is declared. Returns its name. */
  #declare(content: string, name: string, declarationOf: (free: string) => string): string {
    const known = this.#names.get(content)
    if (known !== undefined) return known
    let free = name
    for (let nth = 2; this.#taken.has(free); nth++) free = `${name}${nth}`
    this.#taken.add(free)
    this.#names.set(content, free)
    this.declarations.push(declarationOf(free))
    return free
  }
}

const SIMPLE_TYPES: Readonly<Record<string, string>> = {
  string: 'str',
  integer: 'int',
  number: 'float',
  boolean: 'bool',
  null: 'None',
}

function declarationOf(name: string, fields: readonly (readonly [string, string])[]): string {
  const isPlain = fields.every(([key]) => IDENTIFIER.test(key) && !KEYWORDS.has(key))
  if (isPlain) return `class ${name}(TypedDict):\n${fields.map(([key, type]) => `    ${key}: ${type}`).join('\n')}\n`
  // Keywords of Python cannot be names of attributes.
  const lines = fields.map(([key, type]) => `        ${JSON.stringify(key)}: ${type},\n`)
  return `${name} = TypedDict(\n    "${name}",\n    {\n${lines.join('')}    },\n)\n`
}

function union(types: readonly string[]): string {
  const different = [...new Set(types)]
  if (different.includes('Any')) return 'Any'
  const others = different.filter(type => type !== 'None')
  return [...others, ...(others.length === different.length ? [] : ['None'])].join(' | ')
}

function literal(value: unknown): string {
  if (value === true) return 'True'
  if (value === false) return 'False'
  return value === null ? 'None' : JSON.stringify(value)
}

function pascal(name: string): string {
  return name.replaceAll(/(?:^|[^A-Za-z0-9])(\w)/g, (_, letter: string) => letter.toUpperCase())
}
