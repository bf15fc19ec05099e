import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Finding, ROOT, readFiles } from './files.ts'
import { USERS_OF_THE_PACKAGE } from './import-rules.ts'
import { checkImports } from './imports.ts'
import { findUnpublishedInstalls } from './install-commands.ts'
import { checkDocument, findBannedWords } from './prose.ts'
import { findUndeclaredFields } from './row-fields.ts'
import { CODE_BUDGET, countCode, findLongFiles, findOverBudget } from './sizes.ts'

/** Folders and files with code and texts. */
const TEXTS = [
  ...['README.md', 'ARCHITECTURE.md', 'CONTRIBUTING.md', 'CHANGELOG.md', '.ci', '.github'],
  ...['SECURITY.md', 'CODE_OF_CONDUCT.md'],
  ...['bin', 'clients', 'docs', 'examples', 'fixtures', 'scenarios', 'src', 'test', 'tools'],
]
const CODE_ENDS = ['.ts', '.tsx', '.js', '.mjs', '.py', '.css', '.yaml', '.yml', '.toml', '.html', '.sh']

export interface RuleFindings {
  /** The findings by the name of their count. */
  readonly found: Record<string, Finding[]>
  /** What is worth a look and fails no check. */
  readonly warnings: readonly Finding[]
}

/** Applies every rule to the repository. */
export function applyRules(): RuleFindings {
  const { imports } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as { imports: object }
  const source = readFiles(['src'], ['.ts', '.tsx'])
  const counted = readFiles(['src'], ['.ts', '.tsx', '.css'])
  const { cyclic, unruled, forbidden, fragments } = checkImports(
    [...source, ...readFiles(USERS_OF_THE_PACKAGE, ['.ts', '.js'])],
    imports as Readonly<Record<string, unknown>>,
  )
  const texts = readFiles(TEXTS, [...CODE_ENDS, '.md', '.json', '.txt', '.ci/run'])
  const documents = readFiles(
    [
      'README.md',
      'ARCHITECTURE.md',
      'CONTRIBUTING.md',
      'CHANGELOG.md',
      'CODE_OF_CONDUCT.md',
      'SECURITY.md',
      'docs',
      'tools/bench/README.md',
      'tools/bench/history.md',
      'clients/python/README.md',
      'tools/site/playground.md',
    ],
    ['.md'],
  ).map(file => checkDocument(file))
  const found = {
    'files in import cycles': cyclic,
    'files without an import rule': unruled,
    'forbidden imports': forbidden,
    'row fields without a kind of storage': findUndeclaredFields(source),
    'banned words': texts.flatMap(findBannedWords),
    'install commands of unpublished names': texts.flatMap(findUnpublishedInstalls),
    'sentences over 30 words': documents.flatMap(found => found.longSentences),
    'doubled sentences': documents.flatMap(found => found.doubledSentences),
    'broken links': documents.flatMap(found => found.brokenLinks),
    'lines over 120 characters': documents.flatMap(found => found.longLines),
    'source files over 500 lines': findLongFiles(source),
    [`lines over the budget of src (${countCode(counted)} of ${CODE_BUDGET} lines of code)`]: findOverBudget(counted),
  }
  return { found, warnings: fragments }
}
