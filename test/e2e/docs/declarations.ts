/** The names that source files export, and the members of their interfaces and classes: read without a type checker. */
import { readFileSync } from 'node:fs'
import ts from 'typescript'

function parse(path: string): ts.SourceFile {
  return ts.createSourceFile(path, readFileSync(path, 'utf8'), ts.ScriptTarget.Latest, true)
}

/** Returns the names that a module exports, sorted. Throws for `export *`. */
export function exportsOf(path: string): string[] {
  const names = parse(path).statements.flatMap(statement => {
    if (ts.isExportDeclaration(statement)) {
      const { exportClause } = statement
      if (exportClause === undefined || !ts.isNamedExports(exportClause)) throw new Error(`${path} has an 'export *'`)
      return exportClause.elements.map(({ name }) => name.text)
    }
    const isExported = ts.canHaveModifiers(statement) && ts.getModifiers(statement)?.some(isExport)
    if (!isExported) return []
    if (ts.isVariableStatement(statement))
      return statement.declarationList.declarations.map(({ name }) => name.getText())
    return 'name' in statement ? [(statement.name as ts.Identifier).text] : []
  })
  return [...new Set(names)].sort()
}

const isExport = ({ kind }: ts.ModifierLike) => kind === ts.SyntaxKind.ExportKeyword

/** Returns the names of the members of an interface or class, without private and internal ones. */
export function membersOf(path: string, name: string): string[] {
  const found = parse(path).statements.find(
    statement =>
      (ts.isInterfaceDeclaration(statement) || ts.isClassDeclaration(statement)) && statement.name?.text === name,
  ) as ts.InterfaceDeclaration | ts.ClassDeclaration | undefined
  if (found === undefined) throw new Error(`${path} declares no '${name}'`)
  const members = [...found.members].filter(
    member =>
      member.name !== undefined &&
      !ts.isPrivateIdentifier(member.name) &&
      !ts.getJSDocTags(member).some(({ tagName }) => tagName.text === 'internal'),
  )
  // Members of `Pick<Other, 'one' | 'two'>`.
  const picked = (found.heritageClauses ?? []).flatMap(({ types }) =>
    types.flatMap(({ expression, typeArguments }) =>
      expression.getText() === 'Pick' ? (typeArguments?.[1]?.getText().match(/(?<=')\w+(?=')/g) ?? []) : [],
    ),
  )
  return [...new Set([...members.map(member => member.name!.getText()), ...picked])]
}
