import { posix } from 'node:path'
import ts from 'typescript'

/** The name for all exports of a module. */
const ALL = '*'

interface Module {
  readonly source: ts.SourceFile
  readonly declared: Map<string, ts.Statement[]>
  /** Imported names, and names exported from elsewhere: the name there and the module. */
  readonly imported: Map<string, Origin>
  readonly exported: Map<string, Origin>
}

interface Origin {
  readonly name: string
  readonly path: string
}

/**
 * Reports the public types: the names that each entry exports, then every declaration that these lead to, without
 * comments, sorted by name. Of what no entry exports, classes, schemas and tables of operations are left out, and what only
 * these or other such types use: the OpenAPI document and docs/endpoints.md have what is in them.
 *
 * @param entries paths of `.d.ts` files by the names of the entries
 * @param read returns the text of a `.d.ts` file
 */
export function reportApi(entries: Readonly<Record<string, string>>, read: (path: string) => string): string {
  const modules = new Map<string, Module>()
  const declarations = new Map<string, string>()
  const printer = ts.createPrinter({ removeComments: true })

  const load = (path: string): Module => {
    const module = modules.get(path) ?? parse(path, read(path))
    modules.set(path, module)
    return module
  }
  /** Follows a name to the module that declares it; undefined if that is another package or the language. */
  const find = ({ name, path }: Origin, isExport: boolean): Origin | undefined => {
    if (!path.endsWith('.d.ts')) return undefined
    if (name === ALL) return { name, path }
    const module = load(path)
    const next = (isExport ? module.exported.get(name) : undefined) ?? module.imported.get(name)
    if (next !== undefined && next.path !== path) return find(next, true)
    const local = next?.name ?? name
    if (module.declared.has(local)) return { name: local, path }
    return module.imported.has(local) && local !== name ? find({ name: local, path }, false) : undefined
  }
  const report = (origin: Origin | undefined, isPublic = false): void => {
    const key = origin && `${origin.name} ${origin.path}`
    if (key === undefined || (declarations.has(key) && !isPublic)) return
    const { source, declared, exported } = load(origin!.path)
    if (origin!.name === ALL) {
      for (const name of exported.keys()) report(find({ name, path: origin!.path }, true))
      return
    }
    const isBrief = (each: ts.Statement) => ts.isVariableStatement(each) || ts.isClassDeclaration(each)
    const statements = declared.get(origin!.name)!.filter(each => isPublic || !isBrief(each))
    if (statements.length === 0) return
    declarations.set(key, statements.map(each => printer.printNode(ts.EmitHint.Unspecified, each, source)).join('\n'))
    for (const statement of statements) {
      if (isPublic)
        visitNames(statement, origin!.path, (name, path) => report(find({ name, path }, path !== origin!.path)))
    }
  }

  const lists = Object.entries(entries).map(([entry, path]) => {
    const names = [...load(path).exported.keys()].sort()
    return `## ${entry}\n\n${names.map(name => `- ${name}\n`).join('')}`
  })
  for (const path of Object.values(entries)) {
    for (const name of load(path).exported.keys()) report(find({ name, path }, true), true)
  }
  const sorted = [...declarations].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, text]) => text)
  return `# Public types

\`npm run api\` writes this page, and \`npm run check\` compares it: a change of a public type shows in its diff.

${lists.join('\n')}
## Declarations

\`\`\`ts
${sorted.join('\n\n')}
\`\`\`
`
}

function parse(path: string, text: string): Module {
  const source = ts.createSourceFile(path, text, ts.ScriptTarget.Latest, true)
  const module: Module = { source, declared: new Map(), imported: new Map(), exported: new Map() }
  const declare = (statement: ts.Statement, name: string) => {
    module.declared.set(name, [...(module.declared.get(name) ?? []), statement])
    const isExported =
      ts.canHaveModifiers(statement) && statement.modifiers?.some(({ kind }) => kind === ts.SyntaxKind.ExportKeyword)
    if (isExported) module.exported.set(name, { name, path })
  }
  for (const statement of source.statements) {
    if (ts.isVariableStatement(statement)) {
      for (const { name } of statement.declarationList.declarations) declare(statement, name.getText())
    } else if (ts.isImportDeclaration(statement)) {
      const bindings = statement.importClause?.namedBindings
      if (bindings === undefined) continue
      if (ts.isNamespaceImport(bindings)) {
        module.imported.set(bindings.name.text, { name: ALL, path: resolve(path, statement.moduleSpecifier) })
        continue
      }
      for (const { name, propertyName } of bindings.elements) {
        const origin = { name: (propertyName ?? name).text, path: resolve(path, statement.moduleSpecifier) }
        module.imported.set(name.text, origin)
      }
    } else if (ts.isExportDeclaration(statement)) {
      if (statement.exportClause === undefined || !ts.isNamedExports(statement.exportClause))
        throw new Error(`Failed to report the types of ${path}: 'export *' is unsupported. Export each name.`)
      const from = statement.moduleSpecifier === undefined ? path : resolve(path, statement.moduleSpecifier)
      for (const { name, propertyName } of statement.exportClause.elements)
        module.exported.set(name.text, { name: (propertyName ?? name).text, path: from })
    } else if ('name' in statement && statement.name) {
      declare(statement, (statement.name as ts.Identifier).text)
    }
  }
  return module
}

/** Calls `visit` with each name that a declaration uses, and the module in which to look for it. */
function visitNames(node: ts.Node, path: string, visit: (name: string, path: string) => void): void {
  ts.forEachChild(node, child => {
    if (ts.isImportTypeNode(child) && ts.isLiteralTypeNode(child.argument) && child.qualifier)
      visit(child.qualifier.getText().split('.')[0]!, resolve(path, child.argument.literal))
    const isOwnName = 'name' in node && node.name === child
    if (ts.isIdentifier(child) && !isOwnName) visit(child.text, path)
    visitNames(child, path, visit)
  })
}

/** Returns the path of an imported module's `.d.ts`, or the name of a package as it is. */
function resolve(path: string, specifier: ts.Expression | ts.LiteralTypeNode['literal']): string {
  const { text } = specifier as ts.StringLiteral
  if (!text.startsWith('.')) return text
  return posix.join(posix.dirname(path), text.replace(/\.[jt]s$/, '.d.ts'))
}
