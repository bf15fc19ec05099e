/** The Python package: its own tests, its example, and the code of its page, with the built package. */
import { spawnSync } from 'node:child_process'
import { cpSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { temporaryFolderOfTests } from '../../setup/temporary-folder.ts'
import { installed } from '../installed-package.ts'
import { runIn } from './installed.ts'

const hasPytest = spawnSync('python3', ['-c', 'import sys, pytest; sys.exit(sys.version_info < (3, 11))']).status === 0
const folder = temporaryFolderOfTests()

describe(`clients/python${hasPytest ? '' : ' (skipped: there is no pytest for Python 3.11 on this machine)'}`, () => {
  test.skipIf(!hasPytest)(
    'its tests, those of its example, and those of its page pass',
    async () => {
      cpSync('clients/python', folder, { recursive: true })
      const blocks = [...readFileSync('clients/python/README.md', 'utf8').matchAll(/```python\n([\s\S]*?)```/g)]
      const [withPytest, ...scripts] = blocks.map(([, code]) => code!)
      writeFileSync(join(folder, 'tests/test_page.py'), withPytest!)
      writeFileSync(join(folder, 'script.py'), scripts.join('\n'))
      const command = `${process.execPath} ${join(installed(), 'node_modules/modelhost-sim/bin/modelhost-sim.js')}`
      const environment = { MODELHOST_SIM_COMMAND: command, PYTHONPATH: join(folder, 'src') }

      const tests = await runIn(folder, ['python3', '-m', 'pytest', '-q', '-p', 'no:cacheprovider'], environment)
      expect(tests.said).toMatch(/\d\d passed in [\d.]+s/)
      expect(tests.said).not.toMatch(/failed|error/)
      const printed = await runIn(folder, ['python3', 'script.py'], environment)
      expect(printed.said).toMatch(/^http:\/\/127\.0\.0\.1:\d+ sim_two_nodes_token/)
      expect(printed.said).toContain('h100-0')
      expect([tests.code, printed.code]).toEqual([0, 0])
    },
    300_000,
  )
})
