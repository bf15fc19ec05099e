/** Forms and uploads, valid and invalid. */
import fc from 'fast-check'
import { bodies, jsonContentType } from './json-bodies.ts'
import type { Content } from './sent-request.ts'
import { type KnownValues, nasty } from './values.ts'

/** Generates fields as a form, sometimes with another content type or damaged. */
export function forms(known: KnownValues, fields: readonly string[]): fc.Arbitrary<Content> {
  const url: [string, string][] = [['content-type', 'application/x-www-form-urlencoded']]
  const pair = fc.tuple(fc.oneof(fc.constantFrom(...fields), nasty), fc.oneof(nasty, fc.constant('A name')))
  const encoded = fc.array(pair, { maxLength: 4 }).map(pairs => new URLSearchParams(pairs).toString())
  const broken = fc.constantFrom('%', '&&=&', '=', 'name', 'name=%zz', 'name=a&name=b', '__proto__=1', '{}')
  const body = fc.oneof({ weight: 6, arbitrary: encoded }, { weight: 1, arbitrary: broken })
  return fc.oneof(
    { weight: 8, arbitrary: fc.tuple(fc.constant(url), body) },
    { weight: 2, arbitrary: uploads(fields, 'files') },
    { weight: 1, arbitrary: fc.tuple(jsonContentType, bodies(known, undefined)) },
    { weight: 1, arbitrary: fc.constant<Content>([[], undefined]) },
  )
}

interface Part {
  head: string
  content: string
  /** Each character of the content is a byte. */
  isBinary?: boolean
}

/** A form that the endpoint accepts. */
interface ExampleForm {
  readonly fields: Readonly<Record<string, string>>
  readonly content: string | Uint8Array
}

/** Generates multipart forms with a file and text fields, sometimes damaged. */
export function uploads(fields: readonly string[], part = 'file', example?: ExampleForm): fc.Arbitrary<Content> {
  const disposition = (name: string, filename?: string) =>
    `Content-Disposition: form-data; name="${name}"${filename === undefined ? '' : `; filename="${filename}"`}`
  const content = fc.oneof(
    fc.constantFrom('', 'batch', '{"custom_id":"a"}\n', 'ü🦙', '\r\n--', '\r\n--b\r\n', 'x'.repeat(70_000)),
    nasty,
  )
  const isUsual = (name: string) => example === undefined || Object.hasOwn(example.fields, name)
  const isBinary = example !== undefined && typeof example.content !== 'string'
  const exampleContent = isBinary ? String.fromCharCode(...(example.content as Uint8Array)) : example?.content
  const usualContent = example
    ? fc.oneof({ weight: 2, arbitrary: fc.constant(exampleContent as string) }, content)
    : content
  const usual = [
    fc
      .tuple(fc.constant(disposition(part, 'in.jsonl')), usualContent)
      .map(([head, text]): Part => ({ head, content: text, isBinary: isBinary && text === exampleContent })),
    ...fields.filter(isUsual).map(name => {
      const value = fc.constantFrom('batch', ...Array<string>(8).fill(example?.fields[name] ?? 'batch'))
      return value.map((text): Part => ({ head: disposition(name), content: text }))
    }),
  ]
  const unusualNames = fields.filter(one => !isUsual(one)).flatMap(one => [one, `${one}[]`])
  const likelyValues = ['0', '0.5', '1', 'word', 'segment', 'text', 'srt', 'json', 'en', '', 'batch']
  const unusual =
    unusualNames.length === 0
      ? fc.constant<Part[]>([])
      : fc.array(
          fc
            .tuple(fc.constantFrom(...unusualNames), fc.constantFrom(...likelyValues))
            .map(([one, text]): Part => ({ head: disposition(one), content: text })),
          { maxLength: 2 },
        )
  const name = fc.oneof(fc.constantFrom(part, ...fields, '__proto__', 'constructor'), nasty)
  const odd = fc
    .tuple(
      fc.oneof(
        fc.tuple(name, fc.option(nasty, { nil: undefined })).map(([one, filename]) => disposition(one, filename)),
        fc.constantFrom(
          ...['', 'Content-Disposition: form-data', 'Content-Disposition: attachment', 'nonsense', ': x'],
          ...['Content-Disposition: form-data; name', 'Content-Disposition: form-data; name="file', 'X: \u0000'],
          "Content-Disposition: form-data; name=file; filename*=utf-8''%ff%zz",
          `${disposition('file', 'a')}\r\nContent-Type: text/plain; charset=nope`,
          `${disposition('purpose')}\r\nContent-Type: text/plain; charset=utf-16le`,
          `${disposition('file', 'a')}\r\nContent-Transfer-Encoding: base64`,
          `${disposition('file', 'a')}\r\nX: ${'x'.repeat(90_000)}`,
        ),
      ),
      content,
    )
    .map(([head, text]): Part => ({ head, content: text }))
  const parts = fc.oneof(
    { weight: 6, arbitrary: fc.tuple(fc.tuple(...usual), unusual).map(([given, more]) => [...given, ...more]) },
    { weight: 2, arbitrary: fc.tuple(...usual).map(given => [...given].reverse()) },
    { weight: 6, arbitrary: fc.array(fc.oneof(...usual, odd), { maxLength: 5 }) },
    {
      weight: 1,
      arbitrary: fc
        .constantFrom(99, 100, 101)
        .chain(count => fc.array(usual[1] ?? odd, { minLength: count, maxLength: count })),
    },
  )
  const boundary = fc.oneof(
    { weight: 9, arbitrary: fc.constant('b') },
    { weight: 1, arbitrary: fc.constantFrom('', '--', 'b b', '"', 'x'.repeat(300), 'ü') },
  )
  const said = (mark: string) =>
    fc.oneof(
      { weight: 15, arbitrary: fc.constant(`multipart/form-data; boundary=${mark}`) },
      { weight: 1, arbitrary: fc.constant(`multipart/form-data; boundary="${mark}"`) },
      {
        weight: 1,
        arbitrary: fc.constantFrom(
          ...['multipart/form-data', 'multipart/form-data; boundary', 'multipart/form-data;boundary=', ';'],
          ...['multipart/form-data; boundary=other', 'multipart/mixed; boundary=b', 'application/json', 'multipart/'],
          'multipart/form-data; boundary=b; boundary=c; charset=%ff',
        ),
      },
    )
  return boundary
    .chain(mark => fc.tuple(fc.constant(mark), said(mark), parts, fc.option(fc.nat(120), { freq: 5 }), fc.nat(30)))
    .map(([mark, contentType, given, whole, absent]) => {
      const pieces = given.flatMap(({ head, content, isBinary }) => [
        `--${mark}\r\n${head}\r\n\r\n`,
        isBinary ? Buffer.from(content, 'latin1') : content,
        '\r\n',
      ])
      const body = Buffer.concat([...pieces, `--${mark}--\r\n`].map(piece => Buffer.from(piece as string)))
      const header: [string, string][] = /^[\x20-\xff]*$/.test(contentType) ? [['content-type', contentType]] : []
      // fc.option gives a number in four of five cases; only small numbers truncate the body.
      const cut = whole === null || whole > 30 ? body : body.subarray(0, -whole)
      return [header, absent === 0 ? undefined : Uint8Array.from(cut)]
    })
}
