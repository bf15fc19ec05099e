/**
 * `npm run test:twice`: runs the tests of one process twice, and compares the digests of all worlds that they use.
 *
 * `npm run test:twice -- test/batch` runs the files of a folder alone. Exit codes: 0 all digests are equal, 1 a digest
 * differs or a test fails.
 */
import { runSuite } from './suite-digests.ts'

const PROJECTS = ['in-process', 'long']

/**
 * Tests whose worlds depend on real time or on the order in which requests arrive over connections, by the start of
 * `<file> > <test>`. Each has its reason.
 */
const DEPENDS_ON_REAL_TIME: Readonly<Record<string, string>> = {
  'test/simulator/clock/openai.test.ts > the openai client retries after growing delays':
    'The client draws its delays itself.',
  'test/simulator/webhooks.test.ts > the clock': 'The mode scaled follows real time.',
  'test/simulator/snapshot/snapshot.test.ts > a restored clock keeps its mode': 'The mode scaled follows real time.',
  'test/server/control/snapshots.test.ts > a restored world of a server keeps': 'The mode scaled follows real time.',
  'test/server/http/wire.test.ts > a scaled clock': 'The mode scaled follows real time.',
  'test/server/webhooks.test.ts > ': 'The receivers listen on free ports, which are in the journal.',
  'test/simulator/history/webhooks.test.ts > a recording with webhooks': 'The receiver listens on a free port.',
  'test/server/http/hostile-requests.test.ts > a move of the clock ends': 'A client leaves at a real moment.',
  'test/simulator/history/past/past.test.ts > a past has at most': 'A checkpoint comes at a turn of the event loop.',
  'test/simulator/history/past/past.property.long.test.ts > a world':
    'A checkpoint comes at a turn of the event loop, and is a further world.',
  'test/server/http/world-replaced.test.ts > a move is refused': 'The reset comes at a real moment of the move.',
  'test/simulator/history/replay.property.long.test.ts > a replay gives the same answers':
    'A restore replaces a world within a move, whose work comes in slices of real time.',
  'test/cli/simulate.test.ts > simulate prints the report so far': 'A signal comes at a real moment.',
  'test/simulator/faults/transports.test.ts > latency > in a process': 'The mode scaled follows real time.',
  'test/service/openai/waiting.long.test.ts > ': 'The mode scaled and latency in real time follow it.',
  'test/docs/endpoints.long.test.ts > every line of docs/control.md': 'A line sets the mode scaled.',
}

const filters = process.argv.slice(2)
const first = runSuite(PROJECTS, filters)
const second = runSuite(PROJECTS, filters)
const tests = new Set([...first.digests.keys(), ...second.digests.keys()])
const isExempt = (test: string) => Object.keys(DEPENDS_ON_REAL_TIME).some(start => test.startsWith(start))
const differing = [...tests].filter(test => first.digests.get(test) !== second.digests.get(test))
const unexpected = differing.filter(test => !isExempt(test))
const worlds = [...first.digests.values()].reduce((sum, own) => sum + own.split(' ').length, 0)
for (const test of unexpected) process.stdout.write(`differs: ${test}\n`)
process.stdout.write(
  `${tests.size} tests used ${worlds} worlds. The digests of ${tests.size - differing.length} tests are equal in both ` +
    `runs, ${differing.length - unexpected.length} depend on real time, and ${unexpected.length} differ.\n`,
)
if (!first.passed || !second.passed) process.stdout.write('A test failed. Run npm test to see it.\n')
process.exitCode = unexpected.length > 0 || tests.size === 0 || !first.passed || !second.passed ? 1 : 0
