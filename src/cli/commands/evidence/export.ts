/** `modelhost-sim export`: writes a recording as a test. */
import { basename } from 'node:path'
import type { Argv } from 'yargs'
import { toPytest } from '../../../evidence/export/pytest-test.ts'
import { planTest } from '../../../evidence/export/steps.ts'
import { toVitest } from '../../../evidence/export/vitest-test.ts'
import { shellQuote } from '../../../lib/quote.ts'
import { EXIT_CODES, UsageError } from '../../command.ts'
import { readRecording, writeOutput } from '../../recording-files.ts'

export const command = 'export <file> <test>'
export const example = 'export run.ndjson run.test.ts'
export const describe = 'Write a recording as a test for vitest or pytest'

interface Arguments {
  file: string
  test: string
}

export function builder(argv: Argv): Argv<Arguments> {
  return argv
    .positional('file', { type: 'string', describe: 'A file of serve --record or sim.record()' })
    .positional('test', { type: 'string', describe: 'The file to write: *.test.ts for vitest, test_*.py for pytest' })
    .example('$0 export run.ndjson run.test.ts', 'a test for vitest')
    .example('$0 export run.ndjson test_run.py', 'a test for pytest, with a running server')
    .epilogue(EXIT_CODES) as unknown as Argv<Arguments>
}

export async function handler({ file, test }: Arguments): Promise<void> {
  const name = basename(test)
  const isPython = /^test_\w+\.py$/.test(name)
  if (!isPython && !/\.test\.[mc]?ts$/.test(name)) {
    throw new UsageError(
      `Failed to export to '${test}': unknown kind of test. Give a file *.test.ts for vitest, or test_*.py for pytest.`,
    )
  }
  const plan = await planTest(readRecording(file), shellQuote(file))
  const source = isPython
    ? toPytest(plan, name.replace(/^test_|\.py$/g, ''))
    : toVitest(plan, `the recording ${basename(file)} plays as before`)
  writeOutput(test, source.trimEnd())
}
