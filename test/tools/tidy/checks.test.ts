/** Each rule of `npm run check` finds what it forbids, and accepts the neighbour that is allowed. */
import { describe, expect, test } from 'vitest'
import { checkImports } from '../../../tools/tidy/imports.ts'
import { findUnpublishedInstalls } from '../../../tools/tidy/install-commands.ts'
import { checkDocument, findBannedWords } from '../../../tools/tidy/prose.ts'
import { findUndeclaredFields } from '../../../tools/tidy/row-fields.ts'
import { countCode, findLongFiles, findOverBudget } from '../../../tools/tidy/sizes.ts'

const checked = (files: Record<string, string>) =>
  checkImports(
    Object.entries(files).map(([path, text]) => ({ path, text })),
    { '#files': { node: { default: './src/data/files.ts' }, default: './src/simulator/clock/files.browser.ts' } },
  )

describe('the check of imports', () => {
  test('rejects an upward import when it is of a type, re-exported, dynamic, in a type, or of a side effect', () => {
    const { forbidden } = checked({
      'src/kernel/a.ts': "import type { World } from '../simulation/world.ts'\n",
      'src/kernel/b.ts': "export { World } from '../simulation/world.ts'\n",
      'src/kernel/c.ts': "const load = () => import('../simulation/world.ts')\n",
      'src/kernel/d.ts': "type W = import('../simulation/world.ts').World\n",
      'src/kernel/e.ts': "import '../simulation/world.ts'\n",
      'src/kernel/f.ts': "export type * from '../simulation/world.ts'\n",
      'src/simulation/world.ts': "import { Clock } from '../kernel/clock.ts'\n",
    })
    expect(forbidden.map(finding => finding.slice(0, 15))).toEqual(
      ['a', 'b', 'c', 'd', 'e', 'f'].map(name => `src/kernel/${name}.ts`),
    )
    expect(forbidden[0]).toBe('src/kernel/a.ts imports ../simulation/world.ts: kernel is not above simulation/world')
  })

  test('accepts imports of comments and strings', () => {
    const text = "// import '../cli/index.ts'\nconst text = `import x from '../cli/index.ts'`\n"
    expect(checked({ 'src/kernel/a.ts': text }).forbidden).toEqual([])
  })

  test('rejects an import between rooms of one level, and accepts one within a room', () => {
    const { forbidden } = checked({
      'src/simulator/clock/a.ts': "import '../faults/a.ts'\nimport './b.ts'\n",
      'src/simulator/clock/b.ts': '',
    })
    expect(forbidden).toEqual([
      'src/simulator/clock/a.ts imports ../faults/a.ts: simulator/clock is not above simulator/faults',
    ])
  })

  test('lists a file when no rule has its folder', () => {
    const { unruled, forbidden } = checked({
      'src/new-room/a.ts': '',
      'src/simulation/loose.ts': '',
      'src/cli/index.ts': "import '../new-room/a.ts'\n",
    })
    expect(unruled).toEqual(['src/new-room/a.ts', 'src/simulation/loose.ts'])
    expect(forbidden).toEqual(['src/cli/index.ts imports ../new-room/a.ts: src/new-room/a.ts has no import rule'])
  })

  test('accepts only types of control in the user interface', () => {
    const { forbidden } = checked({
      'src/server/page/a.ts': "import type { Overview } from '../control/a.ts'\n",
      'src/server/page/b.ts': "import { Overview } from '../control/a.ts'\n",
      'src/server/page/c.ts': "import type { Clock } from '../kernel/clock.ts'\n",
    })
    expect(forbidden.map(finding => finding.split(' ')[0])).toEqual(['src/server/page/b.ts', 'src/server/page/c.ts'])
  })

  test('follows an import of package.json under each condition', () => {
    const { forbidden } = checked({ 'src/data/a.ts': "import { read } from '#files'\n" })
    expect(forbidden).toEqual(['src/data/a.ts imports #files: data is not above simulator/clock'])
  })

  test('rejects an import of the source in scenarios and examples', () => {
    const { forbidden } = checked({
      'scenarios/a.ts': "import { scenario } from 'modelhost-sim/scenario'\nimport './b.ts'\n",
      'examples/node/a.ts': "import { createSimulator } from '../../src/index.ts'\n",
    })
    expect(forbidden.map(finding => finding.split(' ')[0])).toEqual(['examples/node/a.ts'])
  })

  test('finds a cycle when one of its imports is of a type', () => {
    const { cyclic } = checked({
      'src/kernel/a.ts': "import { b } from './b.ts'\n",
      'src/kernel/b.ts': "import './c.ts'\n",
      'src/kernel/c.ts': "import type { A } from './a.ts'\nimport './d.ts'\n",
      'src/kernel/d.ts': '',
    })
    expect(cyclic.map(finding => finding.split(':')[0])).toEqual(['a', 'b', 'c'].map(name => `src/kernel/${name}.ts`))
  })
})

describe('the check of words', () => {
  test('finds a banned word in prose, names and any case, with its line', () => {
    const text = "line\nNobody obeys\nfunction demandFunds() {}\nconst cure = 'x'\n"
    expect(findBannedWords({ path: 'src/a.ts', text })).toEqual([
      "src/a.ts:2: banned word 'Nobody'",
      "src/a.ts:2: banned word 'obeys'",
      "src/a.ts:3: banned word 'demandFunds'",
      "src/a.ts:4: banned word 'cure'",
    ])
  })

  test('accepts words that contain a banned one', () => {
    const text = 'It understands demands, secures indoors, and on demand: a stand-in, outdoors.\n'
    expect(findBannedWords({ path: 'src/a.ts', text })).toEqual([])
  })
})

describe('the check of install commands', () => {
  // In parts, so that the check does not find these lines.
  const [NAME, MODULE] = ['modelhost-sim', 'modelhost_sim']
  const found = (text: string) => findUnpublishedInstalls({ path: 'docs/a.md', text })

  test.each([
    `npm install -D ${NAME}`,
    `npm i --save-dev msw ${NAME}@^0.1.0 vitest`,
    `npm install ../${NAME}-0.1.0.tgz ${NAME}`,
    `npm exec --yes ${NAME} serve`,
    `npm create ${NAME}`,
    `npx -y ${NAME} serve`,
    `npx ${NAME}@0.1.0 serve`,
    `npx --package=${NAME} tool`,
    `pnpm add -D ${NAME}`,
    `yarn global add ${NAME}`,
    `yarn dlx ${NAME}`,
    `bun add -d ${NAME}`,
    `bunx ${NAME}`,
    `deno add npm:${NAME}`,
    `pip install ${NAME} pytest`,
    `python3 -m pip install -U '${MODULE}>=0.1'`,
    `pipx run ${NAME}`,
    `uv add --dev ${NAME}`,
    `uv pip install ${NAME}[test]`,
    `uvx ${NAME}`,
    `poetry add ${NAME}`,
    `docker pull ${NAME}`,
    `docker run --rm -p 4010:4010 ghcr.io/acme/${NAME}:latest`,
    `npm install github:acme/${NAME}`,
    `npm install git+https://git.example/acme/${NAME}.git`,
    `{ "command": "npx", "args": ["-y", "${NAME}", "mcp"] }`,
    `{ "command": "npx", "args": [\n  "-y",\n  "${NAME}"\n] }`,
    `command: [npx, --yes, ${NAME}, merge]`,
    `spawn('npm', ['install', '${NAME}'])`,
    `npm install -D msw \\\n  ${NAME}`,
    `'Run npm install ' +\n  '--save-dev ${NAME} there.'`,
    `Run \`npm install\n--save-dev ${NAME}\` there.`,
  ])('finds %s', command => {
    expect(found(`First.\n${command}`)).toEqual([expect.stringMatching(/^docs\/a\.md:2: .*modelhost[-_]sim/)])
  })

  test.each([
    `npx ${NAME} serve`,
    `{ "command": "npx", "args": ["${NAME}", "mcp"] }`,
    `npm install -D ../${NAME}/${NAME}-0.1.0.tgz vitest`,
    `npm install ${NAME}-0.1.0.tgz`,
    `pip install ./node_modules/${NAME}/clients/python pytest`,
    `docker run --rm -v ./${NAME}:/data node:20`,
    `npm ci && npm pack\nnpx ${NAME}`,
    `npm install -D vitest\nnpx ${NAME} serve`,
    `Run npm install -D msw. The package ${NAME} needs it.`,
    `\`npm install\` puts ${NAME} there.`,
  ])('accepts %s', command => {
    expect(found(command)).toEqual([])
  })
})

describe('the check of documents', () => {
  const check = (text: string) =>
    checkDocument({ path: 'docs/a.md', text }, { exists: path => path === 'docs/b.md', headings: () => ['a-heading'] })
  const words = (count: number) => Array.from({ length: count }, (_, i) => (i === 0 ? 'First' : `word${i}`)).join(' ')

  test('finds a sentence over 30 words, across lines, in a list item and in a cell of a table', () => {
    expect(check(`Short one. ${words(30)}.`).longSentences).toEqual([])
    expect(check(`Short one. ${words(15)}\nand ${words(15).toLowerCase()}.`).longSentences).toHaveLength(1)
    expect(check(`- first\n- ${words(31)}`).longSentences).toEqual([expect.stringMatching(/^docs\/a\.md:2: 31 words/)])
    expect(check(`| a | ${words(31)} |`).longSentences).toHaveLength(1)
    expect(check(`\`\`\`\n${words(31)}\n\`\`\``).longSentences).toEqual([])
    expect(check(`It runs \`${words(31)}\`.`).longSentences).toEqual([])
  })

  test('finds a line over 120 characters, except in tables, code and a link', () => {
    const long = 'ab '.repeat(41)
    expect(check(`# A\n${long}`).longLines).toEqual(['docs/a.md:2: 123 characters'])
    expect(check(`| ${long} |\n\n\`\`\`\n${long}\n\`\`\`\n\nhttps://${'a'.repeat(130)}`).longLines).toEqual([])
  })

  test('finds a sentence that is there twice, except a short one', () => {
    const sentence = 'The second time this sentence of ten words is here.'
    expect(check(`${sentence}\n\nText. ${sentence}`).doubledSentences).toHaveLength(1)
    expect(check('Default: none.\n\nDefault: none.').doubledSentences).toEqual([])
  })

  test('finds a link to a missing file and to a missing heading', () => {
    const links = '[1](b.md) [2](b.md#a-heading) [3](#own-heading) [4](https://example.com) `[5](c.md)`'
    expect(check(`# Own heading\n${links}`).brokenLinks).toEqual([])
    expect(check('[1](c.md) [2](b.md#other) [3](#none)').brokenLinks).toHaveLength(3)
  })
})

describe('the check of sizes', () => {
  test('finds a file over 500 lines', () => {
    const lines = (count: number) => ({ path: `src/${count}.ts`, text: 'x\n'.repeat(count) })
    expect(findLongFiles([lines(500), lines(501)])).toEqual(['src/501.ts: 501 lines'])
  })

  test('counts lines of code without blank lines and comments, and finds the ones over the budget', () => {
    const file = { path: 'src/a.ts', text: '/** A\n * B */\n\n// C\nconst a = 1 // D\n  return a\n' }
    expect(countCode([file, file])).toBe(4)
    expect(findOverBudget([file, file], 4)).toEqual([])
    expect(findOverBudget([file, file], 3)).toEqual([
      'src has 4 lines of code, and the budget in tools/tidy/sizes.ts is 3. Remove 1 lines.',
    ])
  })
})

test('the check warns of a small file that one file of its folder imports', () => {
  const files = [
    {
      path: 'src/kernel/a.ts',
      text: "import './small.ts'\nimport './shared.ts'\nimport '../lib/far.ts'\nimport './large.ts'\n",
    },
    { path: 'src/kernel/b.ts', text: "import './shared.ts'\n" },
    { path: 'src/kernel/index.ts', text: "import './kind.ts'\n" },
    ...['kernel/small', 'kernel/shared', 'kernel/kind', 'lib/far'].map(name => ({
      path: `src/${name}.ts`,
      text: '\n',
    })),
    { path: 'src/kernel/large.ts', text: '\n'.repeat(40) },
  ]
  expect(checkImports(files, {}).fragments).toEqual([
    'src/kernel/small.ts: 1 lines, and only src/kernel/a.ts imports it',
  ])
})

describe('the check of row fields', () => {
  const found = (fields: string) =>
    findUndeclaredFields([{ path: 'src/a-row.ts', text: `export class ARow extends Row {\n${fields}}\n` }])

  test('finds a field without a kind of storage when it has a first value, a type alone, or a plain assignment', () => {
    expect(found('  plain = 0\n')).toEqual(["src/a-row.ts: 'plain' of ARow has no kind of storage"])
    expect(found('  readonly late: string | undefined\n')).toHaveLength(1)
    expect(found('  readonly late: string\n  constructor() {\n    this.late = this.reference(late)\n  }\n')).toEqual([
      "src/a-row.ts: 'late' of ARow has no first value and no 'declare'",
    ])
    expect(found('  given: string\n  constructor() {\n    this.given = given\n  }\n')).toHaveLength(1)
    expect(found('  list: readonly number[] = []\n')).toHaveLength(1)
  })

  test('accepts fields with a kind of storage, accessors and methods', () => {
    const given = '  declare readonly given: string\n  constructor() {\n    this.given = this.reference(given)\n  }\n'
    const long = '  long =\n    this.reference<readonly number[]>([])\n'
    const members = '  get size(): number {\n    return 1\n  }\n  stop(): void {\n    this.count = 0\n  }\n'
    expect(found(`  count: Micros = this.number(0)\n${given}${long}${members}`)).toEqual([])
  })
})
