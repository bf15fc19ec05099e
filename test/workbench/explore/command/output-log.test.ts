/** What is kept of the output of a command: the line that names its error, and both ends of a long text. */
import { describe, expect, test } from 'vitest'
import { OutputLog } from '../../../../src/workbench/explore/command/output-log.ts'

function logOf(stderr: string, stdout = ''): OutputLog {
  const log = new OutputLog()
  log.add('stderr', Buffer.from(stderr))
  log.add('stdout', Buffer.from(stdout))
  return log
}

const NODE = `file:///client.mjs:3
throw new Error('no answer')
      ^

Error: no answer
    at call (file:///client.mjs:3:7) {
  [cause]: Error: connect ECONNREFUSED
      at TCPConnectWrap.afterConnect
}

Node.js v22.12.0
`
const PYTHON = `WARNING: an error before
Traceback (most recent call last):
  File "client.py", line 2, in call
    raise_for_status()
http.Gone: 404

During handling of the above exception, another exception occurred:

Traceback (most recent call last):
  File "client.py", line 9, in <module>
    main()
shop.OutOfTime: the deployment
does not run
`

test.each([
  ['Node', NODE, 'Error: no answer'],
  ['Python', PYTHON, 'shop.OutOfTime: the deployment'],
  [
    'Go',
    'panic: runtime error: index out of range\n\ngoroutine 1 [running]:\nmain.main()\n\t/main.go:5 +0x1d\n',
    'panic: runtime error: index out of range',
  ],
  ['curl', 'curl: (22) The requested URL returned error: 503\n', 'curl: (22) The requested URL returned error: 503'],
  ['another program', 'first\nno such model\n', 'no such model'],
])('the line that names the error of %s is found', (_, stderr, expected) => {
  expect(logOf(stderr, '{"id":"a"}\n').errorLine).toBe(expected)
})

test('a command without an error stream has the last line of its output, and a silent one none', () => {
  expect(logOf('', 'one\ntwo\n').errorLine).toBe('two')
  expect(logOf('').errorLine).toBe('')
})

describe('an excerpt', () => {
  test('has both ends of a long output', () => {
    const lines = Array.from({ length: 12 }, (_, i) => `line ${i + 1}`)
    expect(logOf(`${lines.join('\n')}\n`).excerpt(4)).toBe('line 1\nline 2\n… 8 more lines …\nline 11\nline 12')
    expect(logOf(`${lines.join('\n')}\n`).excerpt(12)).toBe(lines.join('\n'))
  })

  test('has the begin of a long line', () => {
    expect(logOf(`Error: ${'x'.repeat(500)}`).excerpt(4)).toBe(`Error: ${'x'.repeat(193)}…`)
  })
})
