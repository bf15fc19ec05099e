import { join, relative } from 'node:path'
import ts from 'typescript'
import { type Finding, ROOT } from './files.ts'

/**
 * Type-checks the whole repository and emits the types of src to `outDir`: one run of the compiler for both.
 *
 * Returns the errors.
 */
export function compile(outDir: string): Finding[] {
  const config = ts.getParsedCommandLineOfConfigFile(
    join(ROOT, 'tsconfig.json'),
    // Without what is marked @internal, as in the package.
    { noEmit: false, declaration: true, emitDeclarationOnly: true, stripInternal: true, outDir, rootDir: ROOT },
    { ...ts.sys, onUnRecoverableConfigFileDiagnostic: () => undefined },
  )!
  const program = ts.createProgram(config.fileNames, config.options)
  const source = program.getSourceFiles().filter(({ fileName }) => fileName.startsWith(join(ROOT, 'src/')))
  const diagnostics = [
    ...config.errors,
    ...program.getOptionsDiagnostics(),
    ...program.getGlobalDiagnostics(),
    ...program.getSyntacticDiagnostics(),
    ...program.getSemanticDiagnostics(),
  ]
  const write: ts.WriteFileCallback = (name, text) =>
    ts.sys.writeFile(name.replace(`${outDir}/src/`, `${outDir}/`), text)
  for (const file of source) diagnostics.push(...program.emit(file, write).diagnostics)
  return diagnostics.map(({ file, start = 0, messageText }) => {
    const place = file && `${relative(ROOT, file.fileName)}:${file.getLineAndCharacterOfPosition(start).line + 1}`
    return `${place ?? 'tsconfig.json'}: ${ts.flattenDiagnosticMessageText(messageText, '\n')}`
  })
}
