import type { Finding, TextFile } from './files.ts'

const CLASS = /^(?:export )?(?:abstract )?class (\w+) extends (?:\w*Row)\b[^\n]*\{\n(.*?)^\}/gms
const FIELD = /^ {2}(declare )?(?:readonly |override )*(\w+)[?!]?(?:: [^=\n]*[^=\n ])?(?: =\s*([^\n]*))?$/gm
const STORAGE = 'this\\.(?:int32|number|boolean|reference|owned)\\b'

/**
 * Finds fields of rows whose first value names no kind of storage: copies and snapshots would not have them. A field
 * without a first value needs `declare`: without it, Node defines the field when it runs the source, before the
 * constructor names its storage.
 */
export function findUndeclaredFields(files: readonly TextFile[]): Finding[] {
  return files.flatMap(({ path, text }) =>
    [...text.matchAll(CLASS)].flatMap(([, className, body]) =>
      [...body!.matchAll(FIELD)]
        .filter(([, declared, name, initial]) =>
          initial === undefined
            ? declared === undefined || !new RegExp(`^ {4}this\\.${name} = ${STORAGE}`, 'm').test(body!)
            : !new RegExp(`^${STORAGE}`).test(initial),
        )
        .map(([, declared, name, initial]) =>
          initial === undefined && declared === undefined
            ? `${path}: '${name}' of ${className} has no first value and no 'declare'`
            : `${path}: '${name}' of ${className} has no kind of storage`,
        ),
    ),
  )
}
