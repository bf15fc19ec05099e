import type { Finding, TextFile } from './files.ts'

const CLASS = /^(?:export )?(?:abstract )?class (\w+) extends (?:\w*Row)\b[^\n]*\{\n(.*?)^\}/gms
const FIELD = /^ {2}(?:readonly |override |declare )*(\w+)[?!]?(?:: [^=\n]*[^=\n ])?(?: =\s*([^\n]*))?$/gm
const STORAGE = 'this\\.(?:int32|number|boolean|reference|owned)\\b'

/** Finds fields of rows whose first value names no kind of storage: copies and snapshots would not have them. */
export function findUndeclaredFields(files: readonly TextFile[]): Finding[] {
  return files.flatMap(({ path, text }) =>
    [...text.matchAll(CLASS)].flatMap(([, className, body]) =>
      [...body!.matchAll(FIELD)]
        .filter(([, name, initial]) =>
          initial === undefined
            ? !new RegExp(`^ {4}this\\.${name} = ${STORAGE}`, 'm').test(body!)
            : !new RegExp(`^${STORAGE}`).test(initial),
        )
        .map(([, name]) => `${path}: '${name}' of ${className} has no kind of storage`),
    ),
  )
}
