/** What an error says of the code of a client, for functions and for commands. */
import { expect, test } from 'vitest'
import { describeCrash } from '../../../src/simulator/judge/recovery.ts'

const PYTHON = `Traceback (most recent call last):
  File "<frozen runpy>", line 198, in _run_module_as_main
  File "/app/venv/lib/python3.11/site-packages/modelhost_sim/run.py", line 40, in main
  File "/app/client.py", line 12, in <module>
    status = deployment["status"]
KeyError: 'status'
`
const NODE = `file:///app/client.mjs:8
    status.trim()
           ^

TypeError: Cannot read properties of undefined (reading 'trim')
    at deploy (file:///app/client.mjs:8:12)
    at process.processTicksAndRejections (node:internal/process/task_queues:95:5)
`
const ofCommand = (message: string, output: string) =>
  Object.assign(new Error(`exit code 1: ${message}`), { name: 'CommandFailed', output })
const ofFlow = Object.assign(new TypeError('no\nlist'), { stack: 'TypeError: no\n    at run (/app/flow.ts:3:9)' })

test.each<[string, unknown, string]>([
  ['Python', ofCommand("KeyError: 'status'", PYTHON), "KeyError: 'status', at client.py:12"],
  ['Node', ofCommand('TypeError: no trim', NODE), 'TypeError: no trim, at client.mjs:8'],
  ['a shell', ofCommand('panic: no map', 'panic: no map\n'), 'panic: no map'],
  ['a function', ofFlow, 'TypeError: no, at flow.ts:3'],
  ['no error', 'gone', 'gone'],
])('a crash of %s has the error in one line, with the place in the code of the client', (_, error, words) => {
  expect(describeCrash(error)).toBe(words)
})
